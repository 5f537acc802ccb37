import { Flow, OnTimeout } from '../../../decorators';
import { deadEnd, forceFail } from '../../../lib/authoring';

@Flow({ onTimeout: 'handler' })
class HandlerlessFlow {}

@Flow({ onTimeout: 'cancel' })
class UnusedFlow {
  @OnTimeout()
  protected late() {
    return forceFail('late');
  }
}

@Flow()
class TwiceFlow {
  @OnTimeout()
  protected late() {
    return forceFail('late');
  }

  @OnTimeout()
  protected later() {
    return deadEnd();
  }
}

export const flows = [HandlerlessFlow, UnusedFlow, TwiceFlow];
