import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  gracefulComplete,
  Step,
  until,
} from '../../../index';

@Attribute({ name: 'Old' })
class Note extends DurableAttribute<string> {}

@Channel({ name: 'Letters', aliases: ['Mail'] })
class Letters extends DurableChannel<string> {}

@Channel({ name: 'Idle' })
class Idle extends DurableChannel<string> {}

@Step({ name: 'Wait' })
class WaitStep {
  constructor(
    private readonly note: Note,
    private readonly letters: Letters,
    private readonly idle: Idle,
  ) {}
  waitFor() {
    return until(this.letters.take(2 + this.idle.size));
  }
  execute() {
    return gracefulComplete(this.note.get());
  }
}

/** A build that has everything that open runs need. */
@Flow({ name: 'Checked' })
class CheckedFlow {
  static readonly start = WaitStep;
}

export const flows = [CheckedFlow];
