/** What can be done with a job, as lines for a terminal. */
import { type Command, operands, pathTo } from "../../logic/commands";
import type { PlainVerb } from "../../logic/verbs";

/** The job as people name it for the command line: an id, where it has no name. */
export type Named = { id: string; name: string | null };

const called = (job: Named) => job.name ?? job.id;

export function plainCommand(job: Named, verb: PlainVerb): Command {
  return { cli: ["pitstop", verb, ...operands(called(job))], method: "POST", path: pathTo("jobs", job.id, verb) };
}

export function exportCommand(job: Named, body: { name: string; cancel: boolean }): Command {
  return {
    cli: ["pitstop", "save-snapshot", ...(body.cancel ? ["--cancel"] : []), ...operands(called(job), body.name)],
    method: "POST",
    path: pathTo("jobs", job.id, "snapshots"),
    body,
  };
}

export type GoBack = {
  options: { allow_drop?: boolean; allow_shared?: boolean };
  state: "present" | "snapshot" | "empty";
  write_again: boolean;
};

export function goBackCommand(job: Named, version: number, seconds: number, body: GoBack): Command {
  const watch = seconds > 0 ? ["--watch", String(seconds)] : [];
  const start = body.state === "present" ? [] : ["--state", body.state];
  const again = body.write_again ? ["--write-again"] : [];
  const drop = body.options.allow_drop ? ["--allow-drop"] : [];
  const shared = body.options.allow_shared ? ["--allow-shared"] : [];
  return {
    cli: [
      "pitstop",
      "rollback",
      "--to",
      String(version),
      ...watch,
      ...start,
      ...again,
      ...drop,
      ...shared,
      ...operands(called(job)),
    ],
    method: "POST",
    path: pathTo("jobs", job.id, "versions", String(version), "go-back"),
    body,
  };
}

export function configureCommand(job: Named, options: Record<string, unknown>): Command {
  const changes = Object.entries(options).map(([name, value]) => `${name}=${value}`);
  return {
    cli: ["pitstop", "configure", ...operands(called(job), ...changes)],
    method: "POST",
    path: pathTo("jobs", job.id, "configure"),
    body: { options },
  };
}

export function logCommand(job: Named): Command {
  return {
    cli: ["pitstop", "logs", "--follow", ...operands(called(job))],
    method: "GET",
    path: pathTo("jobs", job.id, "logs"),
  };
}
