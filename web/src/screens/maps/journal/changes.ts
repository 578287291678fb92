import type { JournalEvent } from "../../../api/client";
import { type Difference, differences } from "../values/difference";

/** All of an event as JSON text; numbers of its values stand there to the last digit. */
export function eventText(event: JournalEvent): string {
  return JSON.stringify(event, null, 2);
}

/** What an event has changed, field by field. */
export function changesOf(event: JournalEvent, most?: number): Difference[] {
  const before = event.kind === "ADDED" ? undefined : event.old_value;
  const after = event.kind === "ADDED" || event.kind === "UPDATED" ? event.new_value : undefined;
  return differences(before, after, most);
}
