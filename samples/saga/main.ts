import { Flow, goTo, gracefulComplete, Holdfast, Step, type StepContext } from '../../index';
import { printHistory } from '../history-table';

interface Transfer {
  readonly from: string;
  readonly to: string;
  readonly amount: number;
}

/** The bank outside; it knows a request by its key, so that a repeat after a crash moves no money twice. */
class Bank {
  private readonly balances = new Map([
    ['mara', 100],
    ['jon', 20],
  ]);
  private readonly done = new Set<string>();

  move(account: string, amount: number, key: string): void {
    if (this.done.has(key)) return;
    const balance = this.balances.get(account);
    if (balance === undefined) throw new NoSuchAccount(`There is no account of ${account}.`);
    if (balance + amount < 0) throw new NotEnoughMoney(`${account} has only ${balance}.`);
    this.balances.set(account, balance + amount);
    this.done.add(key);
  }

  toString(): string {
    return [...this.balances].map(([account, balance]) => `${account} ${balance}`).join(', ');
  }
}

class NoSuchAccount extends Error {
  override readonly name = 'NoSuchAccount';
}

class NotEnoughMoney extends Error {
  override readonly name = 'NotEnoughMoney';
}

const bank = new Bank();

/** When it has failed for good there is nothing to undo. */
@Step({ name: 'Withdraw', retry: { nonRetryable: [NotEnoughMoney, NoSuchAccount] }, onFailure: () => GiveUpStep })
class WithdrawStep {
  execute(transfer: Transfer, ctx: StepContext) {
    bank.move(transfer.from, -transfer.amount, ctx.idempotencyKey);
    return goTo(DepositStep, transfer);
  }
}

/** When it has failed for good, what was withdrawn goes back. */
@Step({
  name: 'Deposit',
  retry: { initialInterval: '20ms', maximumAttempts: 3, nonRetryable: [NoSuchAccount] },
  onFailure: () => PutBackStep,
})
class DepositStep {
  execute(transfer: Transfer, ctx: StepContext) {
    if (ctx.attempt === 1) throw new Error('the line is busy');
    bank.move(transfer.to, transfer.amount, ctx.idempotencyKey);
    return gracefulComplete(`moved ${transfer.amount} from ${transfer.from} to ${transfer.to}`);
  }
}

/** A recovery Step takes the same input, and is told what has failed. */
@Step({ name: 'PutBack' })
class PutBackStep {
  execute(transfer: Transfer, ctx: StepContext) {
    bank.move(transfer.from, transfer.amount, ctx.idempotencyKey);
    return gracefulComplete(`put ${transfer.amount} back to ${transfer.from}: ${ctx.recovery?.failure.message}`);
  }
}

@Step({ name: 'GiveUp' })
class GiveUpStep {
  execute(_transfer: Transfer, ctx: StepContext) {
    return gracefulComplete(`moved nothing: ${ctx.recovery?.failure.message}`);
  }
}

@Flow({ name: 'transfer' })
class TransferFlow {
  static readonly start = WithdrawStep;
  static readonly steps = [DepositStep, PutBackStep, GiveUpStep];
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [TransferFlow], store: 'memory:' });
  const { client } = holdfast;
  const transfer = async (id: string, from: string, to: string, amount: number) => {
    await client.start(TransferFlow, id, { from, to, amount });
    console.log(`${id}: ${await client.result(TransferFlow, id)}`);
    console.log(`  ${bank}`);
  };
  console.log(`  ${bank}`);
  await transfer('t-1', 'mara', 'jon', 30);
  await transfer('t-2', 'jon', 'nobody', 50);
  await transfer('t-3', 'jon', 'mara', 500);
  console.log('\nt-2, event by event:');
  printHistory(await client.history('t-2'));
  await holdfast.close();
}

main();
