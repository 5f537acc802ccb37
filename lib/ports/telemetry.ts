/** What a number is about; few values each, so that they can be labels of a metric. */
export type Labels = Readonly<Record<string, string | number>>;

/** Things that happened. */
export type Counter =
  | 'flows.started'
  | 'flows.closed'
  | 'attempts.started'
  | 'attempts.failed'
  | 'steps.failed'
  | 'messages.published'
  | 'rpcs.completed';

/** How long things took, in milliseconds. */
export type Timing = 'flow' | 'step' | 'rpc' | 'write';

/**
 * Where numbers about a running system go (K5), for example to counters and histograms of OpenTelemetry or Prometheus. Called
 * often: it must be quick. What it throws is dropped. Lengths of queues, the lag of the index and what is blocked are not
 * told here, but read when they are wanted (`queues`, `indexState`).
 */
export interface Telemetry {
  /** Something has happened `value` times, and is durable. */
  count(name: Counter, value: number, labels: Labels): void;
  measure(name: Timing, ms: number, labels: Labels): void;
}
