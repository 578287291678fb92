/** What the search over a job's events reads. */
import type { JobEvent } from "../../../api/client";

/** The text of an event, as its reader sees it or might call it. */
export function eventText(event: JobEvent): string {
  if (event.kind === "state") {
    const asked = event.user_requested ? "asked for by a user" : "by itself";
    return [
      event.display_previous,
      event.previous,
      event.display_new,
      event.new,
      asked,
      event.reason,
      event.trace,
    ].join(" ");
  }
  if (event.kind === "update") {
    const outcome = event.error ? "update failed" : "updated";
    const verdicts = event.report?.lines.map((line) => `${line.stage} ${line.verdict} ${line.detail}`) ?? [];
    return [outcome, `version ${event.previous} version ${event.version}`, event.error, ...verdicts].join(" ");
  }
  return ["snapshot", event.snapshot, `epoch ${event.epoch}`, event.error].join(" ");
}
