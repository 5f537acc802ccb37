import { Flow, Query, Rpc, Validate } from '../../../decorators';

@Flow()
class ApprovalFlow {
  @Rpc()
  approve(by: string) {
    return by;
  }

  @Query()
  state() {
    return 'open';
  }

  unmarked(_by: string) {}

  @Validate('approve')
  protected first(_by: string) {}

  @Validate('approve')
  protected second(_by: string) {}

  // @ts-expect-error there is no such method
  @Validate('aprove')
  protected typo() {}

  @Validate('state')
  protected ofQuery() {}

  @Validate('unmarked')
  protected ofUnmarked(_by: string) {}
}

export const flows = [ApprovalFlow];
