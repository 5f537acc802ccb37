import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Step,
  until,
} from '../../index';

// Flows whose Attributes are searched for, for tests over several processes.

@Attribute({ index: 'keyword' })
export class Stage extends DurableAttribute<string> {}

@Attribute({ index: 'int' })
export class Turns extends DurableAttribute<number> {}

@Channel()
export class End extends DurableChannel<boolean> {}

@Step({ name: 'Turn' })
export class TurnStep {
  constructor(
    private readonly stage: Stage,
    private readonly turns: Turns,
  ) {}

  execute(turns: number) {
    const turn = (this.turns.get() ?? 0) + 1;
    this.turns.set(turn);
    this.stage.set(turn < turns ? 'turning' : 'turned');
    return turn < turns ? goTo(TurnStep, turns) : goTo(EndStep);
  }
}

@Step({ name: 'End' })
class EndStep {
  constructor(
    private readonly stage: Stage,
    private readonly end: End,
  ) {}

  waitFor() {
    return until(this.end.take(1));
  }

  execute() {
    this.stage.set('ended');
    return gracefulComplete();
  }
}

@Flow({ name: 'turning' })
export class TurningFlow {
  static readonly start = TurnStep;
  static readonly steps = [EndStep];
}

export const clusterFlows = [TurningFlow];
