/** Lists that the server changes item by item. */

export type Named = object;

/** `items` after `changes`, each a new value of one item or null for one that is gone; what is new goes to the end. */
export function merged<T extends Named>(
  items: T[],
  changes: { key: string; value: unknown }[],
  id: (item: T) => string,
): T[] {
  if (!changes.length) return items;
  const newest = new Map(changes.map((change) => [change.key, change.value as T | null]));
  const found: T[] = [];
  for (const item of items) {
    const change = newest.get(id(item));
    if (change === undefined) found.push(item);
    else if (change !== null) found.push(change);
    newest.delete(id(item));
  }
  for (const value of newest.values()) if (value !== null) found.push(value);
  return found;
}
