/** A new version as it is being put together: code, options, whose state goes on under another name, and whose may go. */
import { type Artifact, artifactRequest, artifactWords, NO_ARTIFACT } from "../artifact";

export type OptionRow = { id: number; name: string; value: string };
export type Draft = {
  artifact: Artifact;
  options: OptionRow[];
  /** New name of a stage to its old one. */
  renamed: Record<string, string>;
  /** Stages and sources whose saved state, or place, it may drop. */
  allowDrop?: string[];
};

export const EMPTY_DRAFT: Draft = { artifact: NO_ARTIFACT, options: [], renamed: {} };

/** Options that say where a version starts from, not what it is: a new version does not have those of the one before. */
const OF_ONE_START = new Set(["initial_snapshot", "renamed", "allow_drop", "seek"]);

/** The options as a request has them; rows without a name are none. */
export function draftOptions(draft: Draft): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const row of draft.options) if (row.name) found[row.name] = row.value;
  if (Object.keys(draft.renamed).length) found.renamed = draft.renamed;
  if (draft.allowDrop?.length) found.allow_drop = draft.allowDrop;
  return found;
}

/** Options that a new version of a job has if nobody says anything: those that were asked for before. */
export function optionsBefore(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !OF_ONE_START.has(name)));
}

/** Why a draft cannot be sent yet; null if it can. */
export function draftRefusal(draft: Draft): string | null {
  if (artifactRequest(draft.artifact) === null) return "Choose the code first.";
  const empty = draft.options.find((row) => row.name && row.value.trim() === "");
  return empty ? `Give the option ${empty.name} a value, or remove it.` : null;
}

/** Words of our command line for a draft: what stands among the options, and what comes last. */
export function draftWords(draft: Draft): { options: string[]; last: string[] } {
  const { options, last } = artifactWords(draft.artifact);
  const renamed = Object.entries(draft.renamed).flatMap(([now, old]) => ["--renamed", `${now}=${old}`]);
  const dropped = draft.allowDrop?.length ? [`--allow-drop=${draft.allowDrop.join(",")}`] : [];
  const chosen = draft.options.filter((row) => row.name).flatMap((row) => ["-O", `${row.name}=${row.value}`]);
  return { options: [...options, ...renamed, ...dropped, ...chosen], last };
}

/** The draft with the state of `old` going on in the stage `now`, and in no other. */
export function carried(draft: Draft, now: string, old: string): Draft {
  const others = Object.entries(draft.renamed).filter(([key, value]) => key !== now && value !== old);
  return { ...draft, renamed: { ...Object.fromEntries(others), [now]: old } };
}

/** The draft that may drop these stages and sources, too. */
export function mayDrop(draft: Draft, names: string[]): Draft {
  return { ...draft, allowDrop: [...new Set([...(draft.allowDrop ?? []), ...names])] };
}

/** The draft without the renaming of `now`. */
export function notCarried(draft: Draft, now: string): Draft {
  return { ...draft, renamed: Object.fromEntries(Object.entries(draft.renamed).filter(([key]) => key !== now)) };
}
