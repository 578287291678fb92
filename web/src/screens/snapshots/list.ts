/** The list of snapshots as its reader has narrowed it, and which two are compared. */
import type { Snapshot } from "../../api/client";

/** Those with this in their own name or that of their job; without a text all. */
export function matching(snapshots: Snapshot[], text: string | undefined): Snapshot[] {
  const wanted = text?.trim().toLowerCase();
  if (!wanted) return snapshots;
  return snapshots.filter((snapshot) =>
    [snapshot.name, snapshot.job_name ?? "", snapshot.job_id].some((word) => word.toLowerCase().includes(wanted)),
  );
}

/** The chosen names with one more or less; of more than two the first is given up. */
export function toggled(chosen: string[], name: string): string[] {
  return chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name].slice(-2);
}

/** The two chosen ones, the older first; null unless there are two. */
export function pairOf(snapshots: Snapshot[], chosen: string[]): [Snapshot, Snapshot] | null {
  const [a, b] = snapshots
    .filter((snapshot) => chosen.includes(snapshot.name))
    .sort((x, y) => x.created.localeCompare(y.created));
  return a && b ? [a, b] : null;
}
