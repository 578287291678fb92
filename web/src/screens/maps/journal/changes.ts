import type { JournalEvent } from "../../../api/client";
import { type Difference, differences } from "../values/difference";

/** What an event has changed, field by field. */
export function changesOf(event: JournalEvent, most?: number): Difference[] {
  const before = event.kind === "ADDED" ? undefined : event.old_value;
  const after = event.kind === "ADDED" || event.kind === "UPDATED" ? event.new_value : undefined;
  return differences(before, after, most);
}
