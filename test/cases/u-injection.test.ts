import assert from 'node:assert/strict';
import { Container, injectable } from 'inversify';
import { deadEnd, Flow, goTo, gracefulComplete, Step, type StepContext, Timer, until } from '../../index';
import { TestEnvironment } from '../../lib/testing';

let sessions = 0;
let singles = 0;
const alive = new Set<WeakRef<Session>>();
const seen = new Map<string, { waitFor: number; execute: number }>();
const problems: string[] = [];

@injectable()
class Single {
  readonly number = ++singles;
}

@injectable()
class Session {
  readonly number = ++sessions;
  marker = '';
  constructor() {
    alive.add(new WeakRef(this));
  }
}

@injectable()
class Repository {
  constructor(
    readonly session: Session,
    readonly single: Single,
  ) {}
}

@Step({ name: 'Scoped' })
class ScopedStep {
  constructor(
    private readonly repository: Repository,
    private readonly single: Single,
  ) {}

  waitFor(name: string, ctx: StepContext) {
    this.use(name, ctx);
    return until(Timer.after(0));
  }

  async execute(name: string, ctx: StepContext) {
    this.use(name, ctx);
    const { session } = this.repository;
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
    if (session.marker !== `${name}.execute`) problems.push(`${session.marker} instead of ${name}.execute`);
    return name === 'last' ? deadEnd() : gracefulComplete(session.number);
  }

  private use(name: string, { method }: StepContext): void {
    const { session, single } = this.repository;
    if (session === undefined || single !== this.single) problems.push(`${name}: undefined or doubled`);
    if (session.marker !== '') problems.push(`${name}.${method} got a session of ${session.marker}`);
    session.marker = `${name}.${method}`;
    seen.set(name, { ...seen.get(name)!, [method]: session.number });
  }
}

@Step({ name: 'Shared' })
class SharedStep {
  static made = 0;
  constructor(readonly single: Single) {
    SharedStep.made++;
  }
  execute(name: string) {
    return goTo(ScopedStep, name);
  }
}

@Flow({ retention: '1h' })
class ScopedFlow {
  static readonly start = SharedStep;
  static readonly steps = [ScopedStep];
}

describe('Dependency injection', () => {
  it('[C69] each call has a scope of its own where it takes something scoped; singletons stay single', async () => {
    const container = new Container();
    container.bind(Single).toSelf().inSingletonScope();
    container.bind(Session).toSelf().inRequestScope();
    container.bind(Repository).toSelf().inTransientScope();
    const env = await TestEnvironment.open({ flows: [ScopedFlow], container });
    const names = Array.from({ length: 50 }, (_, i) => `f${i}`);
    await Promise.all(names.map((name) => env.client.start(ScopedFlow, name, name)));
    await env.settled();
    assert.deepEqual(problems, []);
    const numbers = names.flatMap((name) => Object.values(seen.get(name)!));
    assert.equal(numbers.length, 100);
    assert.equal(new Set(numbers).size, 100);
    assert.deepEqual([singles, SharedStep.made], [1, 1]);
    for (const name of names) assert.equal(await env.client.result(ScopedFlow, name), seen.get(name)!.execute);
    await env.close();
  });

  it('[C69] nothing of a call is kept when it has ended', async () => {
    const { setFlagsFromString } = await import('node:v8');
    const { runInNewContext } = await import('node:vm');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const container = new Container();
    container.bind(Single).toSelf().inSingletonScope();
    container.bind(Session).toSelf().inRequestScope();
    container.bind(Repository).toSelf().inTransientScope();
    const env = await TestEnvironment.open({ flows: [ScopedFlow], container });
    for (let i = 0; i < 1_000; i++) await env.client.start(ScopedFlow, `g${i}`, `g${i}`);
    await env.settled();
    for (let i = 0; i < 5; i++) {
      await env.advance('1s');
      collect();
    }
    const kept = [...alive].filter((each) => each.deref() !== undefined).length;
    assert.ok(alive.size >= 2_000);
    // A few may be held by frames that have not been left yet.
    assert.ok(kept < 20, `${kept} of ${alive.size} sessions are alive`);
    assert.deepEqual(problems, []);
    await env.close();
  });
});
