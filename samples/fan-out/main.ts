import {
  Channel,
  DurableChannel,
  deadEnd,
  Flow,
  goToMany,
  gracefulComplete,
  Holdfast,
  Step,
  type StepContext,
  to,
  until,
} from '../../index';
import { printHistory } from '../history-table';

/** What the parallel branches hand to the one that joins them. */
@Channel()
class Counts extends DurableChannel<{ page: string; words: number }> {}

@Step({ name: 'Split' })
class SplitStep {
  execute(pages: string[]) {
    return goToMany([to(JoinStep, pages.length), ...pages.map((page) => to(CountStep, page))]);
  }
}

@Step({ name: 'Count', retry: { initialInterval: '100ms' } })
class CountStep {
  constructor(private readonly counts: Counts) {}

  execute(page: string, ctx: StepContext) {
    // A failed attempt publishes nothing, and is tried again without any other branch noticing.
    if (page.startsWith('A') && ctx.attempt === 1) throw new Error('the page does not load');
    const words = page.split(' ').length;
    console.log(`  ${ctx.stepExecutionId}, attempt ${ctx.attempt}: ${words} words`);
    this.counts.publish({ page, words });
    return deadEnd();
  }
}

/** Waits for one message from every branch. */
@Step({ name: 'Join' })
class JoinStep {
  constructor(private readonly counts: Counts) {}

  waitFor(branches: number) {
    return until(this.counts.take(branches));
  }

  execute(branches: number) {
    const words = this.counts.received().reduce((sum, each) => sum + each.words, 0);
    return gracefulComplete(`${words} words on ${branches} pages`);
  }
}

@Flow({ name: 'word-count' })
class WordCountFlow {
  static readonly start = SplitStep;
  static readonly steps = [CountStep, JoinStep];
}

async function main() {
  const holdfast = await Holdfast.open({ flows: [WordCountFlow], store: 'memory:' });
  const { client } = holdfast;
  await client.start(WordCountFlow, 'book', ['Call me what you like', 'A long time ago', 'It was late', 'The end']);
  console.log(`${await client.result(WordCountFlow, 'book')}\n`);
  printHistory(await client.history('book'));
  await holdfast.close();
}

main();
