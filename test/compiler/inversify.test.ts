import { ok, rejects, strictEqual } from 'node:assert';
import { Container, inject, injectable } from 'inversify';
import { Flow, Step } from '../../decorators';
import { deadEnd } from '../../lib/authoring';
import { compile } from '../../lib/compiler';
import { InversifyResolver } from '../../lib/inversify';
import { Balance, OrderFlow, ShippingService, ShipStep } from './order-flow';

let made = 0;

@injectable()
class Session {
  readonly number = ++made;
  marker = '';
}

@injectable()
class Repository {
  constructor(readonly session: Session) {}
}

@injectable()
class Config {}

@Step()
class DirectStep {
  constructor(
    readonly session: Session,
    readonly config: Config,
    readonly balance: Balance,
  ) {}
  execute() {
    return deadEnd();
  }
}

@Step()
class IndirectStep {
  constructor(
    readonly repository: Repository,
    readonly config: Config,
    @inject('clock') readonly clock: { now(): number },
  ) {}
  execute() {
    return deadEnd();
  }
}

@Step()
class PlainStep {
  constructor(readonly config: Config) {}
  execute() {
    return deadEnd();
  }
}

@Step({ inject: ['clock', Balance] })
class ListedStep {
  constructor(
    readonly clock: any,
    readonly balance: Balance,
  ) {}
  execute() {
    return deadEnd();
  }
}

@Flow()
class ScopeFlow {
  static readonly steps = [DirectStep, IndirectStep, PlainStep, ListedStep];
}

function usersContainer(bindSession: (container: Container) => void): InversifyResolver {
  const container = new Container();
  container.bind(Config).toSelf().inSingletonScope();
  container.bind('clock').toConstantValue({ now: () => 7 });
  container.bind(Repository).toSelf().inTransientScope();
  bindSession(container);
  const resolver = new InversifyResolver(container);
  resolver.adopt(compile([ScopeFlow]).classes);
  return resolver;
}

describe('InversifyResolver', () => {
  it('makes everything by a container of its own, each once', async () => {
    const resolver = new InversifyResolver();
    resolver.adopt(compile([OrderFlow]).classes);
    const [{ handler }, second] = await Promise.all([resolver.resolve(ShipStep), resolver.resolve(ShipStep)]);
    strictEqual(second.handler, handler);
    ok((handler as any).shipping instanceof ShippingService);
    strictEqual((await resolver.resolve(OrderFlow)).handler, (await resolver.resolve(OrderFlow)).handler);
  });

  it('does not wait once a singleton is known', async () => {
    const resolver = usersContainer((container) => container.bind(Session).toSelf());
    await resolver.resolve(PlainStep);
    ok(!(resolver.resolve(PlainStep) instanceof Promise));
  });

  for (const scope of ['request', 'transient'] as const) {
    it(`[C69] gives each call its own ${scope}-scoped parts, also indirect ones, and singletons once`, async () => {
      const resolver = usersContainer((container) => {
        const binding = container.bind(Session).toSelf();
        if (scope === 'request') binding.inRequestScope();
        else binding.inTransientScope();
      });
      for (const type of [DirectStep, IndirectStep]) {
        const all = await Promise.all(
          Array.from({ length: 50 }, async () => (await resolver.resolve<any>(type)).handler),
        );
        const sessions = new Set(all.map((handler) => (handler.session ?? handler.repository.session).number));
        strictEqual(sessions.size, 50);
        strictEqual(new Set(all.map((handler) => handler.config)).size, 1);
        strictEqual(new Set(all).size, 50);
      }
      strictEqual((await resolver.resolve(PlainStep)).handler, (await resolver.resolve(PlainStep)).handler);
    });
  }

  it('[C69] keeps a handler whose parts are all singletons, whatever those took', async () => {
    const resolver = usersContainer((container) => container.bind(Session).toSelf().inSingletonScope());
    const [first, second] = await Promise.all([resolver.resolve(DirectStep), resolver.resolve(DirectStep)]);
    strictEqual(first.handler, second.handler);
    strictEqual(first.handler.balance, (await resolver.resolve(ListedStep)).handler.balance);
  });

  it('leaves what the user bound as it is', async () => {
    const given = new PlainStep(new Config());
    const resolver = usersContainer((container) => {
      container.bind(PlainStep).toConstantValue(given);
      container.bind(Session).toSelf();
    });
    strictEqual((await resolver.resolve(PlainStep)).handler, given);

    const parent = new Container();
    parent.bind(PlainStep).toConstantValue(given);
    const child = new InversifyResolver(new Container({ parent }));
    child.adopt([PlainStep]);
    strictEqual((await child.resolve(PlainStep)).handler, given);
  });

  it('injects by a list where the build tool emits no types', async () => {
    const resolver = usersContainer((container) => container.bind(Session).toSelf());
    const { handler } = await resolver.resolve(ListedStep);
    ok(handler.balance instanceof Balance);
    strictEqual(handler.clock.now(), 7);
  });

  it('waits for parts that are made asynchronously', async () => {
    const resolver = usersContainer((container) =>
      container
        .bind(Session)
        .toDynamicValue(async () => new Session())
        .inSingletonScope(),
    );
    ok((await resolver.resolve(DirectStep)).handler.session instanceof Session);
  });

  it('rejects with what the container says is missing, and may succeed later', async () => {
    const container = new Container();
    const resolver = new InversifyResolver(container);
    resolver.adopt([PlainStep]);
    await rejects(async () => resolver.resolve(PlainStep), /No bindings found for service: "Config"/);
    container.bind(Config).toSelf().inSingletonScope();
    ok((await resolver.resolve(PlainStep)).handler.config instanceof Config);
  });
});
