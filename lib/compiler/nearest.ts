/** Advice when a name or value is close to one that is known: a typing slip, another case, a shorter form. */
export function suggest(given: unknown, known: readonly string[], otherwise: string): string {
  const near = typeof given === 'string' ? nearest(given, known) : undefined;
  return near === undefined ? otherwise : `Did you mean ${near}?`;
}

function nearest(given: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, distance: editDistance(given.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (!best || given.length < 2) return undefined;
  const slip = best.distance <= Math.floor(Math.max(given.length, best.name.length) / 3);
  return slip || best.name.toLowerCase().startsWith(given.slice(0, 4).toLowerCase()) ? best.name : undefined;
}

/** Letters to insert, remove or replace to get from one text to the other. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = previous[column - 1] + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column] + 1, current[column - 1] + 1));
    }
    previous = current;
  }
  return previous[to.length];
}
