import { Flow } from '../../../decorators';

// @ts-expect-error these are no Steps
@Flow()
class TextFlow {
  static readonly steps = ['ShipStep', null, { name: 'ShipStep' }, class {}];
}

export const flows = [TextFlow, 'OrderFlow', undefined, null, {}];
