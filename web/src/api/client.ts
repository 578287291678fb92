/** The server, as the page asks it: typed by its own description, with its problems as errors. */
import createClient from "openapi-fetch";
import { parsedExactly } from "../logic/exactJson";
import type { components, paths } from "./schema";
import { withKey } from "./session";

type Schemas = components["schemas"];
export type Job = Schemas["JobStatus"];
export type JobState = Schemas["JobState"];
export type DisplayStatus = Schemas["DisplayStatus"];
export type JobProgress = Schemas["Progress"];
export type JobHistory = Schemas["JobHistory"];
export type JobGraph = Schemas["JobGraph"];
export type Execution = Schemas["ExecutionFacts"];
export type JobVersion = Schemas["JobVersion"];
export type OptionInForce = Schemas["OptionInForce"];
export type JobEvents = Schemas["JobEvents"];
export type JobEvent = JobEvents["events"][number];
export type Snapshot = Schemas["SnapshotRecord"];
export type SnapshotManifest = Schemas["SnapshotManifest"];
export type MapFacts = Schemas["MapFacts"];
export type MapEntry = Schemas["Entry"];
export type FoundEntries = Schemas["FoundEntries"];
export type JournalEvent = Schemas["JournalEvent"];
export type Cluster = Schemas["ClusterInfo"];
export type Member = Schemas["MemberInfo"];
export type Engine = Schemas["EngineInfo"];
export type AuditEntry = Schemas["AuditEntry"];
export type Report = Schemas["ReportModel"];
export type StageVerdict = Schemas["StageVerdict"];
export type Identity = Schemas["Identity"];

/** What the server said against a request: a sentence for people, and a code for programs. */
export class ProblemError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ProblemError";
  }
}

export const UNREACHABLE = "UNREACHABLE";

const signedOut = new Set<() => void>();

/** Calls `listener` whenever the server does not know who asks any more; returns what ends that. */
export function onSignedOut(listener: () => void): () => void {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

async function reach(request: Request): Promise<Response> {
  try {
    return await fetch(withKey(request));
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ProblemError(0, UNREACHABLE, "The server does not answer: is it running, and is the network up?");
  }
}

export const api = createClient<paths>({ baseUrl: window.location.origin, fetch: reach, credentials: "same-origin" });

api.use({
  async onResponse({ response }) {
    if (!response.ok) throw await problemOf(response);
    return response;
  },
});

/** The error that an answer which is none stands for. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const body = await response.json().catch(() => ({}));
  // Who asks who they are, and who signs in, knows by the answer.
  const asks = response.url.endsWith("/api/v1/me") || response.url.endsWith("/sign-in");
  if (response.status === 401 && !asks) for (const listener of signedOut) listener();
  const sentence = typeof body.detail === "string" ? body.detail : `The server answered ${response.status}.`;
  return new ProblemError(response.status, body.code ?? "UNKNOWN", sentence, body.details ?? {});
}

/** The answer of a call that has gone well; what has not is thrown before. */
export async function answered<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}

/** The same of a call that gives its answer as text, for values that are people's own: no digit of a number is lost. */
export async function answeredExactly<T>(call: Promise<{ data?: string }>): Promise<T> {
  return parsedExactly((await call).data ?? "null") as T;
}

/** A request with a file beside its JSON part, as submit, check and update take it. */
export async function upload<T>(
  path: string,
  request: object,
  artifact: File | null,
  signal?: AbortSignal,
): Promise<T> {
  const init: RequestInit = { method: "POST", credentials: "same-origin", signal: signal ?? null };
  if (artifact === null) {
    init.headers = { "Content-Type": "application/json" };
    init.body = JSON.stringify(request);
  } else {
    const form = new FormData();
    form.append("request", JSON.stringify(request));
    form.append("artifact", artifact, artifact.name);
    init.body = form;
  }
  const response = await reach(new Request(path, init));
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

/** The body of an answer that comes bit by bit; `body` is what is posted, if anything. Whoever aborts the signal, or stops reading,
 * is gone for the server. */
export async function streamed(
  path: string,
  body: object | null,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const init: RequestInit = { credentials: "same-origin", signal, cache: "no-store" };
  if (body !== null) {
    init.method = "POST";
    init.headers = { "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const response = await reach(new Request(path, init));
  if (!response.ok) throw await problemOf(response);
  if (response.body === null) throw new ProblemError(response.status, "UNKNOWN", "The server's answer is empty.");
  return response.body;
}
