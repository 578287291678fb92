/** What the audit and the jobs tell, in words. */
import type { components } from "../api/schema";
import { VERB_NAMES, VERBS } from "./verbs";

type Entry = components["schemas"]["AuditEntry"];
type Job = Pick<
  components["schemas"]["JobStatus"],
  "id" | "name" | "status" | "token" | "start_time" | "completion_time" | "failure" | "user_cancelled" | "interruption"
>;

/** Something that has happened: by somebody, or by itself. */
export type Change = { key: string; at: string; who: string | null; what: string; raw: string; bad: string | null };

/** Words for the last part of a request's path; a snapshot is exported where snapshots are. */
const WORDS = new Map<string, string>([
  ...VERB_NAMES.map((name) => [name, VERBS[name].told] as const),
  ["snapshots", VERBS.export.told],
]);

/** What was asked for, as buttons say it; as it came where there are no words for it. `called`: the name of a job by its id. */
export function inWords(entry: Pick<Entry, "method" | "path">, called: (job: string) => string): string {
  const { method, path } = entry;
  if (method === "SQL") return path;
  const parts = path.replace(/^\/api\/v1\//, "").split("/");
  const [kind, name = "", what, which, more] = parts;
  if (kind === "jobs") return ofJob(name && called(name), what, which, more) ?? `${method} ${path}`;
  if (kind === "check") return "Check code";
  if (kind === "snapshots" && method === "DELETE") return `Delete the snapshot ${name}`;
  if (kind === "snapshots" && more === "query") return `Look into the snapshot ${name}`;
  if (kind === "snapshots" && more === "state") return `Put state of ${which} into the snapshot ${name}`;
  if (kind === "maps" && method === "PUT") return `Configure the map ${name}`;
  if (kind === "maps" && method === "POST") return `Write to the map ${name}`;
  if (kind === "maps" && method === "DELETE") return `Delete from the map ${name}`;
  if (kind === "cluster" && name === "shutdown") return "Shut down the cluster";
  if (kind === "cluster" && name === "members") return method === "POST" ? "Add a member" : `Remove the member ${what}`;
  if (kind === "log-levels") return "Change how much a logger tells";
  if (kind === "sign-in-links") return "Make a link to sign in";
  return `${method} ${path}`;
}

function ofJob(job: string, what?: string, which?: string, more?: string): string | null {
  if (!job) return "Submit a job";
  if (what === "versions" && more === "go-back") return `Take ${job} back to version ${which}`;
  const verb = what === undefined ? undefined : WORDS.get(what);
  return verb === undefined ? null : `${verb} ${job}`;
}

/** Requests, and what jobs did by themselves, the newest first: failures, ends, and runs that have begun anew. */
export function changes(entries: Entry[], jobs: Job[], most: number): Change[] {
  const names = new Map(jobs.map((job) => [job.id, job.name ?? job.id]));
  const called = (job: string) => names.get(job) ?? job;
  const asked = entries.map((entry) => ({
    key: `asked ${entry.sequence}`,
    at: entry.at,
    who: entry.user ?? entry.role,
    what: inWords(entry, called),
    raw: `${entry.method} ${entry.path}`,
    bad: entry.status < 400 ? null : `refused (${entry.status})`,
  }));
  const found = [...asked, ...jobs.flatMap(byItself)];
  return found.sort((a, b) => Date.parse(b.at) - Date.parse(a.at) || (a.key < b.key ? 1 : -1)).slice(0, most);
}

function byItself(job: Job): Change[] {
  const name = job.name ?? job.id;
  const change = (at: string, what: string, raw: string, bad: string | null) => [
    { key: `${job.id} ${what}`, at, who: null, what, raw, bad },
  ];
  if (job.status === "FAILED" && job.completion_time && !job.user_cancelled)
    return change(job.completion_time, `${name} has failed`, job.failure ?? "", "failed");
  if (job.status === "COMPLETED" && job.completion_time)
    return change(job.completion_time, `${name} has ended`, "It has read everything.", null);
  if (job.token > 1 && job.start_time)
    return change(job.start_time, `${name} has started again`, job.interruption ?? `Run ${job.token}`, null);
  return [];
}
