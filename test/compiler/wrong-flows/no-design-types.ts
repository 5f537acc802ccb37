import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

class Service {}

@Step()
class BundledStep {
  constructor(
    readonly service: Service,
    readonly other: Service,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Step()
class InheritingStep extends BundledStep {}

abstract class PlainBase {
  constructor(readonly service: Service) {}

  execute() {
    return deadEnd();
  }
}

@Step()
class DerivedStep extends PlainBase {}

@Flow()
class BundledFlow {
  static readonly start = BundledStep;
  static readonly steps = [InheritingStep, DerivedStep];

  constructor(readonly service: Service) {}
}

/** What is there after a build by esbuild or tsx. */
Reflect.deleteMetadata('design:paramtypes', BundledStep);
Reflect.deleteMetadata('design:paramtypes', BundledFlow);

export const flows = [BundledFlow];
