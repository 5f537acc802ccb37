import { Attribute, Flow, Lock, Query, Rpc, Step } from '../../../decorators';
import { DurableAttribute, deadEnd } from '../../../lib/authoring';

@Attribute('write' as any, { index: 'string' as any })
class Balance extends DurableAttribute<number> {}

@Step({ durability: 'sync' as any, onWaitForFailure: true as any, taskQueue: '' })
class OddStep {
  constructor(@Lock('read' as any) readonly balance: Balance) {}

  execute() {
    return deadEnd();
  }
}

@Step({
  onWaitForFailure: 'PROCEED' as any,
  execute: { durability: 'EVENTUALLY' as any },
  locks: [{ attribute: Balance, mode: 1 as any }],
})
class UpperStep {
  execute() {
    return deadEnd();
  }
}

@Flow({ onTimeout: 'Cancel' as any, durability: null as any, historyLimit: 'many' as any })
class OddFlow {
  static readonly steps = [OddStep, UpperStep];

  @Rpc({ onLockConflict: 'fail' as any, transactional: 'yes' as any, locks: 'Balance' as any })
  call() {}

  @Query({ locks: [Balance] } as any)
  look() {}
}

export const flows = [OddFlow];
