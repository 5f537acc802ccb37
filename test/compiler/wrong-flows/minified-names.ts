import { Attribute, Channel, Flow, Step } from '../../../decorators';
import { DurableAttribute, DurableChannel, deadEnd } from '../../../lib/authoring';

@Attribute()
class a extends DurableAttribute<number> {}

@Channel()
class c extends DurableChannel<number> {}

@Step()
class s {
  constructor(
    readonly a: a,
    readonly c: c,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Step({ name: 'T' })
class t {
  execute() {
    return deadEnd();
  }
}

@Flow()
class f {
  static readonly steps = [s, t];
}

export const flows = [f];
