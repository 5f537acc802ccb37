import { Attribute, Flow } from '../../../decorators';
import { DurableAttribute } from '../../../lib/authoring';

@Attribute({ codec: { name: '', encode: (value: Date) => value.getTime(), decode: (ms: any) => new Date(ms) } })
class Nameless extends DurableAttribute<Date> {}

@Attribute({ codec: { name: 'date', encode: (value: Date) => value.getTime() } as any })
class OneWay extends DurableAttribute<Date> {}

@Attribute({ schema: { parse: () => 1 } as any })
class OldSchema extends DurableAttribute<string> {}

@Flow()
class CodecFlow {
  constructor(
    readonly nameless: Nameless,
    readonly oneWay: OneWay,
    readonly oldSchema: OldSchema,
  ) {}
}

export const flows = [CodecFlow];
