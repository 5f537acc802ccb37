import { Attribute, Channel, Flow, Lock, Rpc, Step } from '../../../decorators';
import { DurableAttribute, DurableAttributeMap, DurableChannel, deadEnd } from '../../../lib/authoring';

@Attribute(Lock.exclusive)
class Balance extends DurableAttribute<number> {}

@Attribute(Lock.exclusive)
class Accounts extends DurableAttributeMap<number> {}

@Attribute()
class Elsewhere extends DurableAttribute<number> {}

@Channel()
class Inbox extends DurableChannel<number> {}

class Service {}

@Step()
class LockingStep {
  constructor(
    @Lock.shared @Lock.exclusive readonly balance: Balance,
    @Lock.exclusive readonly inbox: Inbox,
    @Lock.shared readonly service: Service,
  ) {}

  execute() {
    return deadEnd();
  }
}

@Step({
  locks: [
    { attribute: Balance, key: 'id' },
    { attribute: Accounts, key: '' },
    { attribute: Accounts, key: 'to' },
    { attribute: Accounts, key: 'to' },
    Elsewhere,
    undefined as any,
  ],
})
class ListingStep {
  constructor(@Lock('exclusive', { key: 'id' }) readonly balance: Balance) {}

  execute() {
    return deadEnd();
  }
}

@Flow()
class LockingFlow {
  static readonly steps = [LockingStep, ListingStep];

  constructor(
    @Lock.exclusive readonly balance: Balance,
    readonly accounts: Accounts,
  ) {}

  @Rpc({ locks: [Balance, Balance, Inbox as any] })
  call() {}
}

export const flows = [LockingFlow];
