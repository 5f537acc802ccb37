import assert from 'node:assert/strict';
import {
  Attribute,
  Channel,
  DurableAttribute,
  DurableChannel,
  Flow,
  goTo,
  gracefulComplete,
  Query,
  Rpc,
  Step,
  type StepContext,
  Timer,
  until,
} from '../../index';
import { eventually } from '../support/eventually';
import { stepStates } from '../support/expect';
import { describeOnEveryStore } from '../support/stacks';

@Attribute()
class Names extends DurableAttribute<string[]> {}

@Channel()
class Notes extends DurableChannel<string> {}

@Step({ name: 'Note' })
class NoteStep {
  constructor(
    private readonly names: Names,
    private readonly notes: Notes,
  ) {}
  waitFor(_input: string) {
    return until(this.notes.take(1));
  }
  execute(input: string, ctx: StepContext) {
    this.names.set([...(this.names.get() ?? []), input, ctx.flowId, ...this.notes.received()]);
    return goTo(RestStep, input);
  }
}

@Step({ name: 'Rest' })
class RestStep {
  constructor(private readonly names: Names) {}
  waitFor(_input: string) {
    return until(Timer.after('1h'));
  }
  execute(_input: string) {
    return gracefulComplete(this.names.get()!);
  }
}

@Flow()
class NoteFlow {
  static readonly start = NoteStep;
  static readonly steps = [RestStep];
  constructor(private readonly names: Names) {}

  @Rpc()
  add(name: string) {
    this.names.set([...(this.names.get() ?? []), name]);
    return name;
  }

  @Query()
  all() {
    return this.names.get() ?? [];
  }
}

const emoji = '👩‍👩‍👧‍👦';
const ids = [
  ...['123', '00123', '0123', 'a:b:c', 'repeat:x:1', '{tag}', 'a b', ' a b', 'a b ', 'a/../b', '..', '.', '/', '%2F'],
  ...['A', 'a', 'é', 'e\u0301', emoji, '👩', '\u{10ffff}', '\uffff', '~', '\u0001', '\n', '__proto__', 'constructor'],
  ...[
    'a:b',
    'c',
    'a',
    'b:c',
    'a\u0001',
    'x/Note-1',
    'null',
    'undefined',
    '\\',
    '"',
    "'",
    '*',
    '?',
    '$',
    'é'.repeat(256),
  ],
  ...['x'.repeat(512), `${'x'.repeat(511)}y`, '👩'.repeat(128)],
].filter((id, i, all) => all.indexOf(id) === i);

describeOnEveryStore('Ids, names and Unicode', (stack) => {
  it('[C46] every legal flowId works everywhere, and no two are mixed up', async () => {
    const system = await stack.open({ flows: [NoteFlow] });
    await Promise.all(ids.map((id) => system.client.start(NoteFlow, id, `input of ${id}`)));
    await Promise.all(ids.map((id) => system.client.rpc(NoteFlow, id).add(`rpc of ${id}`)));
    await Promise.all(
      ids.map((id) =>
        system.client.publish(NoteFlow, id, Notes, `note of ${id}`, { messageId: `m:${id}`.slice(0, 200) }),
      ),
    );
    const expected = (id: string) => [`rpc of ${id}`, `input of ${id}`, id, `note of ${id}`];
    for (const id of ids) {
      await eventually(async () => assert.deepEqual(await stepStates(system.client, id), { 'Rest-1': 'waiting' }));
      assert.deepEqual(await system.client.rpc(NoteFlow, id).all(), expected(id));
    }
    await system.crash();
    await system.advance(3_601_000);
    for (const id of ids) {
      assert.deepEqual(await system.client.result(NoteFlow, id, { deadline: '15s' }), expected(id));
      assert.equal((await system.client.describe(id)).flowId, id);
      const history = await system.client.history(id);
      assert.equal(history[0]!.fields.flowId, id);
      await assert.rejects(system.client.start(NoteFlow, id, ''), { code: 'FLOW_ALREADY_EXISTS' });
    }
  });

  it('[C46] every other flowId is refused at once, with the rule', async () => {
    const system = await stack.open({ flows: [NoteFlow] });
    const bad = ['', 'a\u0000b', '\ud800', 'a\udc00', 'x'.repeat(513), 'é'.repeat(257), '👩'.repeat(129)];
    for (const id of [...bad, 5, null, undefined, {}] as string[]) {
      const calls = [
        system.client.start(NoteFlow, id, ''),
        system.client.publish(NoteFlow, id, Notes, ''),
        system.client.describe(id),
        system.client.stop(id, 'cancel', ''),
        system.client.history(id),
        system.client.result(NoteFlow, id),
      ];
      for (const call of calls) await assert.rejects(call, { code: 'INVALID_ID' }, JSON.stringify(id));
    }
  });
});
