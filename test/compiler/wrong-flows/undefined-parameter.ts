import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

@Step()
class PayStep {
  constructor(
    readonly bank: unknown,
    readonly clock: unknown,
  ) {}

  execute() {
    return deadEnd();
  }
}

/** What the type-checking compiler emits for a class whose file has not been loaded yet. */
Reflect.defineMetadata('design:paramtypes', [undefined, undefined], PayStep);

@Flow()
class PayFlow {
  static readonly start = PayStep;
}

export const flows = [PayFlow];
