import type { Answer, CallRequest, FlowTell, HandOut, Hint, Read, Request, Result, ToProcess } from '../../../dispatch';
import { decode } from '../../../values';
import type { Journal } from '../workload/journal';
import { flowSettings, type NodeInput, type Programs } from '../workload/program';
import type { Durable } from './durable';
import { wrongTell } from './flow-tells';
import type { RunModel } from './run-model';
import { statesOf, wrongAnswer, wrongError } from './told-call';
import { place } from './wait-model';

interface Asked {
  readonly message: Request | Read | CallRequest;
  readonly sentAt: number;
  /** States of the flow that were durable when it was asked. */
  readonly statesBefore: number;
}

/** Holds everything that leaves an engine against what is durable at that moment (P4). */
export class Told {
  /** Somebody was told that its plan is not known, so that what it sent has no effect. */
  private refusals = false;
  /** What was said to messages that were refused. */
  private readonly refused = new Map<string, string>();
  private readonly asked = new Map<string, Asked>();
  /** States that were durable when a call was first asked. */
  private readonly firstAsked = new Map<string, number>();
  /** Message ids and requests that clients were told to be saved. */
  readonly acknowledged = { starts: new Map<string, string>(), messages: new Set<string>() };

  constructor(
    private readonly durable: Durable,
    private readonly programs: Programs,
    private readonly journal: Journal,
    private readonly violated: (rule: string, what: string) => void,
  ) {}

  ask(message: Request | Read | CallRequest, now: number): void {
    if (this.asked.has(message.id)) return;
    this.asked.set(message.id, { message, sentAt: now, statesBefore: this.statesBefore(message) });
  }

  /** A repeat of a call joins the first, and gets its answer. */
  private statesBefore(message: Request | Read | CallRequest): number {
    if (message.kind !== 'call') return 0;
    const key = `${message.flowId} ${message.command.requestId}`;
    const states = this.firstAsked.get(key) ?? statesOf(this.durable, message.flowId).length;
    this.firstAsked.set(key, states);
    return states;
  }

  /** One flow tells another something. */
  tell(message: FlowTell): void {
    const wrong = wrongTell(this.durable, message);
    if (wrong) this.violated(...wrong);
  }

  /** `isOwner`: nobody else has opened the shard since. */
  check(to: string, message: ToProcess, isOwner: boolean): void {
    switch (message.kind) {
      case 'answer':
        return this.answer(message, isOwner);
      case 'handOut':
        return this.handOut(message);
      case 'resultTaken': {
        // Calls leave no event unless they are saved; their callers' answers tell.
        if (message.token.split('.')[2]!.startsWith('c')) return;
        const token = this.durable.tokens.get(message.token);
        if (message.accepted && token?.isRunning !== false) {
          this.violated('P4', `${to} was told that the result of ${message.token} is taken, and it is not durable`);
        }
        if (!message.accepted && token?.isRunning && isOwner) {
          this.violated('X5', `${to} was told to forget the result of ${message.token}, which is current`);
        }
        return;
      }
      case 'unknown':
        this.refusals = true;
        return;
      case 'abort':
        if (this.durable.tokens.get(message.token)?.isRunning) {
          this.violated('P4', `${to} was told to abort ${message.token}, which is current: ${message.reason}`);
        }
    }
  }

  /** A result leaves its inbox when it has been taken, and not before. */
  trimmedResult(by: string, { flowId, command: { token, execution } }: Result): void {
    if (this.refusals || !this.durable.tokens.get(token)?.isRunning) return;
    // What waits for the end of a transactional call is in memory; its worker repeats it (R7).
    if (this.programs.get(flowId)!.calls.has('swap')) return;
    this.violated('X5', `${by} let the result of ${execution} go, and its attempt ${token} still runs by the store`);
  }

  /** Workers hear of a SYNC call only when that it is ready is durable; of an ASYNC call at once (P3). */
  offered(hint: Hint): void {
    if (hint.kind !== 'step') return;
    // A hint may be of the run before: what was ready there is so in the next.
    const run = this.durable.runs.get(hint.runId)?.latest;
    const { nodes, durability, flow } = this.programs.get(hint.flowId)!;
    const mayBeAsync = nodes.some(({ options }) => options.durability === 'ASYNC');
    if (mayBeAsync || (durability ?? flowSettings[flow].durability) === 'ASYNC') return;
    if (!run?.executions.has(hint.execution) && !run?.ended.has(hint.execution)) {
      this.violated('P2', `${hint.flowId}: ${hint.execution} was offered, and it is not durable`);
    }
  }

  private handOut({ task }: HandOut): void {
    const { token, execution, flowId } = task;
    if (this.durable.tokens.has(token)) return;
    const { durability, flow } = this.programs.get(flowId)!;
    const byConfig = durability ?? flowSettings[flow].durability;
    const optionsOf = (input: Uint8Array | null, recovers: boolean) => {
      if (recovers || input === null) return undefined;
      const named = decode(input) as NodeInput;
      return this.programs.nodesOf(named)[named.node]!.options.durability;
    };
    if ((optionsOf(task.input, task.recovery !== null) ?? byConfig) === 'SYNC') {
      return this.violated('P2', `${flowId}: ${execution} was handed out, and its start is not durable`);
    }
    if (task.from.kind !== 'step') return;
    // An ASYNC call goes out early, and still not before the SYNC result that led to it (P3).
    const parent = task.from.stepExecutionId;
    const bodies = this.journal.ofCall(`${task.chainId}/${parent}/execute`);
    if (bodies.length === 0 || this.durable.runs.get(task.chainId)?.ended.has(parent)) return;
    const { input, recovery } = bodies[0]!.task;
    if ((optionsOf(input, recovery !== null) ?? byConfig) === 'SYNC') {
      this.violated('P3', `${flowId}: ${execution} was handed out before the SYNC result of ${parent} was durable`);
    }
  }

  private answer(answer: Answer, isOwner: boolean): void {
    const asked = this.asked.get(answer.id);
    if (!asked) return this.violated('P4', `an answer to nothing: ${answer.id}`);
    const { message } = asked;
    // Whoever is told the same of the same message once more has long gone on.
    if ('error' in answer && this.refused.get(answer.id) === answer.error.code) return;
    if ('error' in answer) this.refused.set(answer.id, answer.error.code);
    const run = this.durable.latest(message.flowId);
    if (message.kind === 'call') {
      const { statesBefore } = asked;
      const wrong =
        'error' in answer
          ? wrongError(this.durable, { message, statesBefore }, answer.error.code, isOwner)
          : wrongAnswer(this.durable, { message, statesBefore }, answer.value, isOwner);
      if (wrong) this.violated(wrong[0], `${message.flowId}: ${wrong[1]}`);
    }
    if ('error' in answer) {
      return this.refusal(message, answer.error.code, run, asked, isOwner);
    }
    if (message.kind === 'call') return;
    const wrong = message.kind === 'request' ? this.command(message, answer.value) : this.read(message, answer.value);
    if (wrong) this.violated('P4', `${message.flowId}: a client was told ${wrong}`);
  }

  private refusal(
    message: Request | Read | CallRequest,
    code: string,
    run: RunModel | undefined,
    { sentAt }: Asked,
    isOwner: boolean,
  ): void {
    const { flowId } = message;
    const runs = this.durable.byFlow.get(flowId) ?? [];
    if (code === 'FLOW_ALREADY_EXISTS' && !run) this.violated('P4', `${flowId}: told that it exists, and it does not`);
    const start = message.kind === 'request' && message.command.kind === 'start' ? message.command : undefined;
    // Under another policy it may have been refused before, and made a run when it was repeated.
    const isRepeat = start?.reuse === 'reject' && runs.some((run) => run.requestId === start.requestId);
    if (code === 'FLOW_ALREADY_EXISTS' && isRepeat) {
      this.violated('F5', `${flowId}: the repeat of the start that made it was told that it exists already`);
    }
    if (code === 'FLOW_NOT_ACTIVE') {
      // Its one run has been open ever since it was asked.
      const open = runs.length === 1 && run!.isOpen && !run!.closing && run!.startedAt < sentAt - 60_000;
      if (open) this.violated('P4', `${flowId}: told that it is not active, and it is`);
    }
    if (isOwner && (code === 'CORRUPT_RECORD' || code === 'INTERNAL')) {
      this.violated('P10', `${flowId}: answered with ${code}`);
    }
  }

  private command({ flowId, command }: Request, value: unknown): string | undefined {
    const runs = this.durable.byFlow.get(flowId) ?? [];
    switch (command.kind) {
      case 'start': {
        const { runId } = value as { runId: string };
        this.acknowledged.starts.set(command.requestId, runId);
        const run = this.durable.runs.get(runId);
        return run?.requestId === command.requestId ? undefined : `that ${command.requestId} started ${runId}`;
      }
      case 'startAndPublish': {
        const { runId, started } = value as { runId: string; started: boolean };
        if (started) this.acknowledged.starts.set(command.start.requestId, runId);
        for (const { id } of command.messages) this.acknowledged.messages.add(id);
        const missing = command.messages.find(({ id }) => !runs.some((run) => run.messageIds.has(id)));
        if (missing) return `that ${missing.id} is published`;
        return this.durable.runs.has(runId) ? undefined : `that ${runId} is there`;
      }
      case 'publish': {
        for (const { id } of command.messages) this.acknowledged.messages.add(id);
        const missing = command.messages.find(({ id }) => !runs.some((run) => run.messageIds.has(id)));
        return missing && `that ${missing.id} is published`;
      }
      case 'stop': {
        const { status } = value as { status: string };
        // It closes when its started RPCs have ended (R9).
        const isClosing = status === 'running' && this.programs.get(flowId)!.calls.size > 0;
        return isClosing || runs.some((run) => run.status === status && !run.isOpen)
          ? undefined
          : `that it is ${status}`;
      }
      case 'skipTimer':
        return runs.some((run) => run.skipped.has(command.execution)) ? undefined : 'that a timer is skipped';
      default:
        return undefined;
    }
  }

  private read({ flowId, what }: Read, value: unknown): string | undefined {
    switch (what.kind) {
      case 'describe': {
        const { runId, events, status } = value as { runId: string; events: number; status: string };
        const run = this.durable.runs.get(runId);
        const durable = (run?.events ?? 0) - (run?.previous?.events ?? 0);
        if (!run || events > durable) return `${events} events of ${runId}, of which ${durable} are durable`;
        const now = run.closing ? 'running' : run.status;
        // After its end only its parents are told.
        const wrong = events === durable ? status !== now : status !== 'running' && status !== run.status;
        return wrong ? `that it is ${status} at event ${events}` : undefined;
      }
      case 'attributes': {
        const told = (value as [string, Uint8Array][]).map(([address, payload]) => [place(address), decode(payload)]);
        const shown = JSON.stringify(told.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
        const runs = this.durable.byFlow.get(flowId) ?? [];
        const known = runs.some((run) => run.pastAttributes.some((past) => past.shown === shown));
        return known ? undefined : `the Attributes ${shown}`;
      }
      case 'outcome': {
        const { runId, status, outputs } = value as {
          runId: string;
          status: string;
          outputs: { stepExecutionId: string; value: Uint8Array }[];
        };
        const run = this.durable.runs.get(runId);
        if (!run || run.isOpen || run.status !== status) return `that ${runId} is ${status}`;
        const told = JSON.stringify(outputs.map((each) => [each.stepExecutionId, decode(each.value)]));
        const durable = JSON.stringify(run.outputs.map((each) => [each.stepExecutionId, each.value]));
        return told === durable ? undefined : `the outputs ${told} instead of ${durable}`;
      }
      case 'stepEnd': {
        const runs = this.durable.byFlow.get(flowId) ?? [];
        return runs.some((run) => run.ended.has(what.execution)) ? undefined : `that ${what.execution} has ended`;
      }
      case 'history': {
        const { runId, events } = value as { runId: string; events: [number, { kind: string; at: number }][] };
        const history = this.durable.histories.get(runId) ?? [];
        const wrong = events.find(([number, { kind, at }]) => {
          const event = history[number - 1];
          return event?.kind !== kind || event.at !== at;
        });
        return wrong && `the event ${wrong[0]} ${wrong[1].kind}`;
      }
    }
  }
}
