/** The steps of a change-over, and how far it is. */
import type { ChangeOver } from "./changeOver";

export type StepId = "ready" | "last" | "gap" | "first" | "watch";
export type StepState = "done" | "now" | "to come" | "failed";
export type Step = { id: StepId; state: StepState };

/** A suspended job has no gap: its saved state is exported, and the new version lies ready. */
export type Kind = { suspended: boolean; watchSeconds: number };

/** The steps with their states; `now` in milliseconds decides whether the new version is still watched. */
export function stepsOf(found: ChangeOver, kind: Kind, now: number): Step[] {
  const ids: StepId[] = kind.suspended
    ? ["ready", "last", "first"]
    : ["ready", "last", "gap", "first", ...(kind.watchSeconds ? (["watch"] as const) : [])];
  const place = placeOf(found, kind, now);
  return ids.map((id, index) => {
    const at = place === "end" ? ids.length : ids.indexOf(place);
    if (index < at) return { id, state: "done" };
    if (index > at) return { id, state: "to come" };
    return { id, state: found.phase === "failed" ? "failed" : "now" };
  });
}

/** When the new version is watched no more, in milliseconds; null if it is not watched. */
export function watchedUntil(found: ChangeOver, watchSeconds: number): number | null {
  return found.phase === "up" && found.up && found.gapSeconds !== null && watchSeconds > 0
    ? Date.parse(found.up) + watchSeconds * 1000
    : null;
}

/** One sentence for who listens instead of looking; it changes only when a step does. */
export function announcement(found: ChangeOver, kind: Kind): string {
  switch (found.phase) {
    case "none":
      return "The update begins.";
    case "preparing":
      return "The new version is made ready. The old one goes on.";
    case "stopping":
      return "The old version ends its last epoch.";
    case "gap":
      return kind.suspended ? "The saved state is exported." : "The old version has stopped, the new one starts.";
    case "up":
      return kind.suspended
        ? "The new version lies ready."
        : `The new version runs, after a gap of ${found.gapSeconds} seconds.`;
    case "failed":
      return `The update failed, the old version goes on: ${found.error}`;
  }
}

function placeOf(found: ChangeOver, kind: Kind, now: number): StepId | "end" {
  switch (found.phase) {
    case "none":
    case "preparing":
      return "ready";
    case "stopping":
      return "last";
    case "gap":
      return kind.suspended ? "last" : "gap";
    case "up": {
      const until = watchedUntil(found, kind.watchSeconds);
      return until !== null && until > now ? "watch" : "end";
    }
    case "failed":
      if (found.up) return kind.watchSeconds ? "watch" : "first";
      if (found.snapshot && !found.snapshot.error) return kind.suspended ? "last" : "first";
      return found.stopped ? "last" : "ready";
  }
}
