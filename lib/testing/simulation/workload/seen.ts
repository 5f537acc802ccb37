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
}

export function sameSeen(a: Seen, b: Seen): boolean {
  return showSeen(a) === showSeen(b);
}

/** In one order of keys. */
export function showSeen({ attributes, unread, received, fired, local }: Seen): string {
  return JSON.stringify([sorted(attributes), sorted(unread), sorted(received), [...fired].sort(), local]);
}

function sorted(record: Readonly<Record<string, unknown>>): unknown {
  return Object.keys(record)
    .sort()
    .map((key) => [key, record[key]]);
}
