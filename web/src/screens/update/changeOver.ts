/** What has become of an update, told from the events of its job: they say the same to who was there and to who comes later. */
import type { Job, JobEvent } from "../../api/client";
import type { AnyReport } from "../../parts/report";

type StateChange = Extract<JobEvent, { kind: "state" }>;
type VersionChange = Extract<JobEvent, { kind: "update" }>;
type SnapshotTaken = Extract<JobEvent, { kind: "snapshot" }>;

/** What stands as the cause when a user has suspended a job. */
const BY_USER = "Requested by user";

export type Phase =
  /** Nothing is heard of it: it is not begun, or it was refused before the old version was told to stop. */
  | "none"
  /** The new version is made ready; the old one goes on. */
  | "preparing"
  /** The old version ends its last epoch. */
  | "stopping"
  /** Neither runs. */
  | "gap"
  /** The new version runs, or waits in a suspended job. */
  | "up"
  /** The old version goes on. */
  | "failed";

export type ChangeOver = {
  phase: Phase;
  /** When the old version had stopped. */
  stopped: string | null;
  snapshot: SnapshotTaken | null;
  /** When the new version was up, or lay ready in a suspended job. */
  up: string | null;
  gapSeconds: number | null;
  version: number | null;
  previous: number | null;
  report: AnyReport | null;
  error: string | null;
  failed: string | null;
};

/** What has become of the first update that began after this event. */
export function changeOver(events: JobEvent[], after: number, job: Pick<Job, "updating" | "termination">): ChangeOver {
  const later = events.filter((event) => event.sequence > after);
  const [stop, next] = later.filter(isStop);
  const scope = next ? later.filter((event) => event.sequence < next.sequence - 1) : later;
  const outcomes = scope.filter((event) => event.kind === "update");
  const failure = outcomes.findLast((event) => event.error !== null && event.error !== undefined);
  const success = outcomes.findLast((event) => !event.error);
  const last = failure ?? success;
  return {
    phase: phaseOf(stop, failure, success, job),
    stopped: stop?.at ?? null,
    snapshot: stop ? snapshotOf(scope, stop, last) : null,
    up: success?.at ?? null,
    gapSeconds: success?.gap_seconds ?? null,
    version: last?.version ?? null,
    previous: last?.previous ?? null,
    report: (success ?? failure)?.report ?? null,
    error: failure?.error ?? null,
    failed: failure?.at ?? null,
  };
}

/** The event with which the last update of a job ended; null if it had none that is remembered. */
export function lastOutcome(events: JobEvent[]): VersionChange | null {
  return events.findLast((event) => event.kind === "update") ?? null;
}

/** Behind which event an update that is under way has to be looked for. */
export function beginOf(events: JobEvent[]): number {
  return lastOutcome(events)?.sequence ?? 0;
}

function phaseOf(
  stop: StateChange | undefined,
  failure: VersionChange | undefined,
  success: VersionChange | undefined,
  job: Pick<Job, "updating" | "termination">,
): Phase {
  if (failure) return "failed";
  if (success) return "up";
  if (stop) return "gap";
  if (job.termination?.startsWith("UPDATE")) return "stopping";
  return job.updating ? "preparing" : "none";
}

/** A version was told to stop for a new one, or a suspended job's state is being saved for it. */
function isStop(event: JobEvent): event is StateChange {
  return (
    event.kind === "state" &&
    event.user_requested &&
    /^Update\b/.test(event.reason) &&
    (event.new === "NOT_RUNNING" || event.new === "SUSPENDED_EXPORTING_SNAPSHOT")
  );
}

/** A running job's snapshot is told just before it stops, a suspended one's before the update ends. */
function snapshotOf(scope: JobEvent[], stop: StateChange, outcome: VersionChange | undefined): SnapshotTaken | null {
  const until = outcome?.sequence ?? Number.POSITIVE_INFINITY;
  const near = (event: JobEvent) =>
    event.sequence >= stop.sequence - 2 && event.sequence < Math.max(until, stop.sequence);
  return scope.find((event): event is SnapshotTaken => event.kind === "snapshot" && near(event)) ?? null;
}

/** Why the new version failed after it was up; null if it did not, or another version has taken its place. */
export function failedSince(
  found: Pick<ChangeOver, "phase" | "version">,
  job: Pick<Job, "status" | "version" | "user_cancelled" | "failure" | "suspension_cause">,
): string | null {
  if (found.phase !== "up" || job.version !== found.version) return null;
  if (job.status === "FAILED" && !job.user_cancelled) return job.failure ?? "Its log says why.";
  const cause = job.status === "SUSPENDED" ? job.suspension_cause : null;
  return cause && cause !== BY_USER ? cause : null;
}
