/** What a body reads at its beginning; the model says what it should have been. */
export interface Seen {
  /** Values by Attribute, of maps by entry. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Unread messages by Channel, of maps by key. */
  readonly unread: Readonly<Record<string, readonly string[]>>;
  /** Messages that its wait consumed. */
  readonly received: Readonly<Record<string, readonly string[]>>;
  readonly fired: readonly string[];
  readonly local: string | null;
  /** How SubFlows ended, by the ids of their conditions. */
  readonly subFlows: Readonly<Record<string, string>>;
}

export function showOutcome(status: string, outputs: readonly unknown[]): string {
  return `${status} ${JSON.stringify(outputs)}`;
}

export function sameSeen(a: Seen, b: Seen): boolean {
  return showSeen(a) === showSeen(b);
}

/** In one order of keys. */
export function showSeen({ attributes, unread, received, fired, local, subFlows }: Seen): string {
  const records = [attributes, unread, received, subFlows].map(sorted);
  return JSON.stringify([...records, [...fired].sort(), local]);
}

function sorted(record: Readonly<Record<string, unknown>>): unknown {
  return Object.keys(record)
    .sort()
    .map((key) => [key, record[key]]);
}

/** What the body of an RPC or Query reads at its beginning. */
export type CallSeen = Pick<Seen, 'attributes' | 'unread'>;

export function showCallSeen({ attributes, unread }: CallSeen): string {
  return JSON.stringify([attributes, unread].map(sorted));
}
