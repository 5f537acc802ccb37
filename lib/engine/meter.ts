import { type Event, nameOf, type RunState } from '../core';
import type { Telemetry } from '../ports';

/** Counts what the events of runs say, each once it is durable (K5). */
export class Meter {
  constructor(
    private readonly telemetry: Telemetry,
    private readonly whenDurable: (tell: () => void) => void,
  ) {}

  note(run: RunState | undefined, events: readonly Event[]): void {
    if (!run || events.length === 0) return;
    const { flow, startedAt } = run.head;
    this.whenDurable(() => {
      for (const event of events) this.count(flow, startedAt, event);
    });
  }

  wrote(shard: number, ms: number): void {
    this.telemetry.measure('write', ms, { shard });
  }

  private count(flow: string, startedAt: number, event: Event): void {
    const { telemetry } = this;
    switch (event.kind) {
      case 'FlowStarted':
        return telemetry.count('flows.started', 1, { flow });
      case 'FlowClosed':
        telemetry.count('flows.closed', 1, { flow, status: event.status });
        return telemetry.measure('flow', event.at - startedAt, { flow, status: event.status });
      case 'AttemptStarted':
        return telemetry.count('attempts.started', 1, { flow, step: stepOf(event.execution), method: event.method });
      case 'AttemptFailed': {
        const labels = { flow, step: stepOf(event.execution), method: event.method, error: event.failure.name };
        return telemetry.count('attempts.failed', 1, labels);
      }
      case 'StepFailed':
        return telemetry.count('steps.failed', 1, { flow, step: stepOf(event.execution) });
      case 'RpcCompleted':
        telemetry.count('rpcs.completed', 1, { flow, rpc: event.rpc });
        return this.published(flow, event.staged.publishes);
      case 'WaitForCompleted':
      case 'ExecuteCompleted':
        return this.published(flow, event.staged.publishes);
      case 'MessagePublished':
        return telemetry.count('messages.published', 1, { flow, channel: nameOf(event.address) });
    }
  }

  private published(flow: string, publishes: readonly (readonly [address: string, value: unknown])[]): void {
    for (const [address] of publishes) {
      this.telemetry.count('messages.published', 1, { flow, channel: nameOf(address) });
    }
  }
}

/** `Ship` of `Ship-3`. */
function stepOf(execution: string): string {
  return execution.slice(0, execution.lastIndexOf('-'));
}
