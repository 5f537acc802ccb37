import type { Hint, HoldfastDispatch, ShardInbox, ToProcess, ToShard } from '../../dispatch';
import { Epochs } from '../../dispatch/epochs';
import { HoldfastError } from '../../errors';
import type { HintReader, Mailbox, Offers, Origin, Subscription } from '../../ports';
import { SimInbox } from './sim-inbox';
import type { SimProcess } from './sim-process';
import type { Switchboard } from './switchboard';

/** One process's way into the network. */
export class SimDispatch implements HoldfastDispatch {
  constructor(
    private readonly board: Switchboard,
    private readonly process: SimProcess,
    /** Told of each message before it is taken in, and when it has been. */
    private readonly onArrival: (message: ToProcess | undefined) => void = () => {},
  ) {}

  send(shard: number, message: ToShard): Promise<void> {
    const { process, board } = this;
    return new Promise((resolve, reject) => {
      process.act(() => {
        if (board.refuses(process)) {
          process.later(1, () => reject(new HoldfastError('OVERLOADED', 'The simulated dispatch is down.')));
          return;
        }
        board.watch.sent(process, message);
        board.carry(process, message, (copy: ToShard) => board.arriveAtShard(shard, copy));
        process.later(1, resolve);
      });
    });
  }

  openInbox(shard: number, onArrival: () => void): ShardInbox {
    return new SimInbox(this.board, this.process, shard, onArrival);
  }

  openMailbox(name: string, onMessage: (message: ToProcess) => void): Mailbox {
    const { process, board } = this;
    const epochs = new Epochs();
    board.mailboxes.set(name, {
      process,
      onMessage: (message, from) => {
        if (!epochs.accept(from)) return;
        this.onArrival(message);
        onMessage(message);
        this.onArrival(undefined);
      },
    });
    return {
      close: () => {
        if (!process.isDead) board.mailboxes.delete(name);
      },
    };
  }

  post(to: string, message: ToProcess, from: Origin): void {
    const { process, board } = this;
    if (process.runs) board.watch.speaks(process, from);
    process.act(() => {
      board.watch.posted(process, to, message, from);
      if (board.isCut(process)) return;
      board.carry(process, message, (copy: ToProcess) => board.arriveAtProcess(to, copy, from));
    });
  }

  openOffers(): Offers<Hint> {
    return this.board.hints.openOffers(this.process);
  }

  openHints(_process: string, wanted: Subscription, onHint: (hint: Hint) => void): HintReader<Hint> {
    return this.board.hints.openReader(this.process, wanted, onHint);
  }

  isGone(process: string): boolean {
    return this.board.isGone(process);
  }
}
