/** What stands at a path such as `customer.id` in an input; undefined where there is nothing. */
export function valueAt(input: unknown, path: string): unknown {
  let value = input;
  for (const part of path.split('.')) {
    value = value instanceof Map ? value.get(part) : (value as Record<string, unknown> | null | undefined)?.[part];
  }
  return value;
}
