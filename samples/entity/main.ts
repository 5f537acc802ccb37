import {
  Attribute,
  DurableAttribute,
  DurableAttributeMap,
  Flow,
  Holdfast,
  type HoldfastError,
  initially,
  Lock,
  Query,
  Rpc,
} from '../../index';

@Attribute(Lock.exclusive)
class Balance extends DurableAttribute<number> {}

@Attribute()
class Limits extends DurableAttributeMap<number> {}

class Overdrawn extends Error {
  override readonly name = 'Overdrawn';
}

/** A Flow without Steps: it lives until it is stopped, and does what is asked of it. */
@Flow({ name: 'account' })
class AccountFlow {
  constructor(
    private readonly balance: Balance,
    private readonly limits: Limits,
  ) {}

  /** Who holds the lock reads and writes without losing an update, however many call at the same time. */
  @Rpc({ locks: [Balance] })
  deposit(amount: number) {
    const balance = (this.balance.get() ?? 0) + amount;
    this.balance.set(balance);
    return balance;
  }

  /** What is thrown reaches the caller, and nothing is written. */
  @Rpc({ locks: [Balance] })
  withdraw(amount: number, where: string) {
    const balance = (this.balance.get() ?? 0) - amount;
    if (balance < 0) throw new Overdrawn(`${amount} is more than there is.`);
    if (amount > (this.limits.get(where) ?? 50)) throw new Overdrawn(`${amount} is above the limit of ${where}.`);
    this.balance.set(balance);
    return balance;
  }

  @Rpc()
  setLimit(where: string, amount: number) {
    this.limits.set(where, amount);
  }

  @Query()
  state() {
    return { balance: this.balance.get() ?? 0, limits: this.limits.keys().map((key) => [key, this.limits.get(key)]) };
  }
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [AccountFlow], store: 'memory:' });
  const { client } = holdfast;
  const account = client.rpc(AccountFlow, 'account-1');
  const tell = (error: HoldfastError) => `refused: ${(error.cause as Error).name}: ${(error.cause as Error).message}`;

  // The account is opened by its first deposit; both are saved in one write, or nothing is.
  const options = { attributes: [initially(Limits, 'shop', 200)] };
  const first = await client.startAndCall(AccountFlow, 'account-1', undefined, (rpc) => rpc.deposit(100), options);
  console.log('opened with', first);

  await Promise.all(Array.from({ length: 20 }, () => account.deposit(10)));
  console.log('after 20 deposits at the same time:', await account.state());

  console.log(await account.withdraw(80, 'cash').catch(tell));
  await account.setLimit('cash', 80);
  console.log('with a higher limit:', await account.withdraw(80, 'cash'));
  console.log(await account.withdraw(1_000, 'shop').catch(tell));

  // The same request is applied once, however often it is made.
  const once = client.rpc(AccountFlow, 'account-1', { requestId: 'transfer-7' });
  console.log('asked twice, applied once:', await once.deposit(5), await once.deposit(5));

  await client.stop('account-1', 'cancel', 'the account is closed');
  console.log('closed, and still readable:', await account.state());
  await holdfast.close();
}

main();
