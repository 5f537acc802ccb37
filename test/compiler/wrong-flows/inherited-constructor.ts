import { injectable } from 'inversify';
import { Flow, Step } from '../../../decorators';
import { deadEnd } from '../../../lib/authoring';

class Mailer {}

class MailStep {
  constructor(readonly mailer: Mailer) {}

  execute() {
    return deadEnd();
  }
}

@Step()
class BaseStep extends MailStep {
  constructor(override readonly mailer: Mailer) {
    super(mailer);
  }
}

@Step()
@injectable()
class ReminderStep extends BaseStep {}

@Flow()
class MailFlow {
  static readonly start = ReminderStep;
}

export const flows = [MailFlow];
