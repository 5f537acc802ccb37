import type { HistoryEvent } from '../index';

/** Prints a run's history as a table that fits a terminal. */
export function printHistory(events: readonly HistoryEvent[]): void {
  const rows = events.map(({ number, at, kind, fields }) => [
    String(number),
    at.toISOString().slice(11, 23),
    kind,
    String(fields.execution ?? ''),
    detailOf(fields),
  ]);
  const head = ['#', 'time', 'event', 'execution', 'what'];
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => cells.map((cell, column) => cell.padEnd(widths[column]!)).join('  ');
  console.log(line(head));
  console.log(widths.map((width) => '─'.repeat(width)).join('──'));
  for (const row of rows) console.log(line(row).trimEnd());
}

function detailOf(fields: Readonly<Record<string, unknown>>): string {
  const failure = fields.failure as { name: string; message: string } | null | undefined;
  const fired = (fields.fired as unknown[] | undefined)?.length;
  const taken = (fields.messages as [number, string[]][] | undefined)?.reduce((sum, [, keys]) => sum + keys.length, 0);
  return [
    fields.flow && `${fields.flow} ${fields.flowId}`,
    fields.attempt !== undefined && `attempt ${fields.attempt} of ${fields.method}`,
    fields.conditions && `${(fields.conditions as unknown[]).length} conditions`,
    fired && 'a timer fired',
    taken && `${taken} message${taken === 1 ? '' : 's'} taken`,
    fields.child && `${(fields.child as { flowId: string }).flowId}`,
    fields.key && `${fields.key} ${(fields.outcome as { status: string } | undefined)?.status ?? ''}`,
    fields.decision,
    fields.status,
    fields.output !== undefined && short(fields.output),
    fields.value !== undefined && `${fields.address} ${short(fields.value)}`,
    failure && `${failure.name}: ${failure.message}`,
  ]
    .filter(Boolean)
    .join(' · ');
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
