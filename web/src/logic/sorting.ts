/** How a table is sorted, as it stands in an address: `name` or `-name`. */
import type { SortingState } from "@tanstack/react-table";

export function sortingFrom(text: string | undefined): SortingState {
  if (!text) return [];
  return text.startsWith("-") ? [{ id: text.slice(1), desc: true }] : [{ id: text, desc: false }];
}

export function sortingText(sorting: SortingState): string | undefined {
  const first = sorting[0];
  return first && (first.desc ? `-${first.id}` : first.id);
}
