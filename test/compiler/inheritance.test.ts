import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { Flow, Query, Rpc, Step, Validate } from '../../decorators';
import { deadEnd } from '../../lib/authoring';
import { compile } from '../../lib/compiler';
import { InversifyResolver } from '../../lib/inversify';
import { Approvals, Balance } from './order-flow';

class Mailer {}

/** The classes of C66, decorated in an order that the caller chooses. */
function declare(order: 'base first' | 'siblings first') {
  @Flow()
  class Base {
    constructor(readonly balance: Balance) {}

    @Rpc({ deadline: '5s' })
    r(_by: string) {
      return 1;
    }

    @Validate('r')
    protected checkR(_by: string) {}
  }

  @Flow()
  class A extends Base {
    @Query()
    x() {
      return 1;
    }
  }

  @Flow()
  class B extends Base {
    @Rpc({ deadline: '9s', name: 'renamed' })
    override r(_by: string) {
      return 2;
    }

    @Validate('r')
    protected checkB(_by: string) {}
  }

  @Flow()
  class C extends Base {
    override r(_by: string) {
      return 3;
    }
  }

  const mixin = <T extends new (...deps: any[]) => object>(base: T) => class Mixed extends base {};

  @Flow()
  class D extends mixin(Base) {}

  const classes = { Base, Abe: A, Ben: B, Cid: C, Dora: D };
  const names = order === 'base first' ? Object.keys(classes) : Object.keys(classes).reverse();
  for (const name of names) Flow({ name })(classes[name as keyof typeof classes]);
  return classes;
}

describe('[C66] inheritance', () => {
  for (const order of ['base first', 'siblings first'] as const) {
    it(`a subclass has its base's members and its own; base and siblings are untouched (${order})`, () => {
      const { Base, Abe, Ben, Cid, Dora } = declare(order);
      const compiled = compile([Base, Abe, Ben, Cid, Dora]);
      const rpcs = (type: any) =>
        Object.values(compiled.flowOf(type)!.plan.rpcs).map(({ name, kind, deadlineMs }) => [name, kind, deadlineMs]);
      deepStrictEqual(rpcs(Base), [['r', 'rpc', 5_000]]);
      deepStrictEqual(rpcs(Abe), [
        ['r', 'rpc', 5_000],
        ['x', 'query', 60_000],
      ]);
      deepStrictEqual(rpcs(Ben), [['renamed', 'rpc', 9_000]]);
      deepStrictEqual(rpcs(Cid), [['r', 'rpc', 5_000]]);
      deepStrictEqual(rpcs(Dora), [['r', 'rpc', 5_000]]);
      strictEqual(compiled.flowOf(Ben)?.rpcOf('r')?.validator, 'checkB');
      strictEqual(compiled.flowOf(Cid)?.rpcOf('r')?.validator, 'checkR');
      for (const type of [Base, Abe, Ben, Cid, Dora]) {
        deepStrictEqual(Object.keys(compiled.flowOf(type)!.plan.attributes), ['Balance']);
      }
    });
  }

  it('an inherited constructor declares and injects the same as its own', async () => {
    abstract class Common {
      constructor(
        readonly mailer: Mailer,
        readonly approvals: Approvals,
      ) {}

      execute() {
        return deadEnd();
      }
    }

    @Step()
    class MarkedBase extends Common {
      constructor(
        mailer: Mailer,
        approvals: Approvals,
        readonly balance: Balance,
      ) {
        super(mailer, approvals);
      }
    }

    @Step()
    class Left extends MarkedBase {}

    @Step()
    class Right extends Left {}

    @Flow()
    class MailFlow {
      static readonly steps = [MarkedBase, Left, Right];
    }

    const compiled = compile([MailFlow]);
    const { steps } = compiled.flowOf(MailFlow)!.plan;
    deepStrictEqual(steps.Right.attributes, ['Balance']);
    deepStrictEqual(steps.Right.locks, steps.MarkedBase.locks);
    const resolver = new InversifyResolver();
    resolver.adopt(compiled.classes);
    for (const type of [MarkedBase, Left, Right]) {
      const { handler } = await resolver.resolve<MarkedBase>(type);
      ok(
        handler.mailer instanceof Mailer &&
          handler.approvals instanceof Approvals &&
          handler.balance instanceof Balance,
      );
      strictEqual(handler.constructor, type);
    }
  });
});
