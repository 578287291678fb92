/** What a job is being stopped for, in words. */
const MODES: Record<string, string> = {
  SUSPEND: "Suspending…",
  RESTART: "Restarting…",
  EXPORT: "Exporting a snapshot…",
  CANCEL_AND_EXPORT: "Exporting a snapshot, then cancelling…",
  UPDATE: "Stopping the old version for an update…",
};

/** What a job is being stopped for: the server writes `MODE#operation`. */
export function modeWords(termination: string): string {
  const mode = termination.split("#")[0] ?? "";
  return MODES[mode] ?? `${mode}…`;
}
