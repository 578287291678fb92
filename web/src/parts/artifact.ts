/** The code of a job as a reader of the page chooses it: a file of theirs, one that the server keeps, or a place it reads. */
import type { components } from "../api/schema";
import { type Command, curlLine, shellLine } from "../logic/commands";

/** A file with code that the server keeps. */
export type StoredArtifact = components["schemas"]["Artifact"];

export type ArtifactFrom = "file" | "stored" | "place";
export type Artifact = {
  from: ArtifactFrom;
  file: File | null;
  /** Path of a stored artifact on the server. */
  stored: string | null;
  /** Path or URL that the server reads. */
  place: string;
  entry: string;
  /** One argument a line. */
  args: string;
};

export const NO_ARTIFACT: Artifact = { from: "file", file: null, stored: null, place: "", entry: "", args: "" };
/** What the server takes as a job. */
export const SUFFIXES = [".py", ".sql", ".zip", ".whl"];
const MOST_BYTES = 256 * 1024 * 1024;

/** What is sent of it beside the file; null while nothing is chosen. */
export function artifactRequest(chosen: Artifact): { artifact: string; entry: string | null; args: string[] } | null {
  const artifact = artifactName(chosen);
  if (!artifact) return null;
  return { artifact, entry: chosen.entry.trim() || null, args: argumentsOf(chosen) };
}

/** The file to upload; null if the server has, or reads, the artifact itself. */
export function artifactFile(chosen: Artifact): File | null {
  return chosen.from === "file" ? chosen.file : null;
}

/** Arguments as they were written, one a line; blank lines are none. */
export function argumentsOf(chosen: Artifact): string[] {
  return chosen.args.split(/\r?\n/).filter((line) => line.trim() !== "");
}

/** The name of the file without what is before and behind it: what a job is called if nobody names it. */
export function stemOf(chosen: Artifact): string {
  const name = artifactName(chosen).split("/").pop() ?? "";
  return name.replace(/\.[^.]+$/, "");
}

/** Why a file cannot be a job's code; null if it may be. */
export function fileRefusal(file: { name: string; size: number }): string | null {
  if (!SUFFIXES.some((suffix) => file.name.endsWith(suffix))) {
    return `'${file.name}' is no artifact: a job is a ${SUFFIXES.join(", ")} file.`;
  }
  if (file.size > MOST_BYTES) return `'${file.name}' is larger than 256 MiB: an artifact holds code, no data.`;
  return null;
}

/** Words of our command line for it: what stands among the options, and what comes last. */
export function artifactWords(chosen: Artifact): { options: string[]; last: string[] } {
  const entry = chosen.entry.trim();
  const args = argumentsOf(chosen);
  return {
    options: entry ? ["-c", entry] : [],
    last: [artifactName(chosen) || "ARTIFACT", ...args],
  };
}

/** A request for curl: as JSON, or as a form with the file beside it. */
export function artifactCurl(chosen: Artifact, command: Command, origin: string): string {
  const file = artifactFile(chosen);
  if (!file) return curlLine(command, origin);
  // Within the quotes of -F, curl takes a backslash as the mark before a quote or a backslash.
  const name = file.name.replaceAll(/["\\]/g, "\\$&");
  const form = ["--form-string", `request=${JSON.stringify(command.body)}`, "-F", `artifact=@"${name}"`];
  return `curl --fail-with-body -H "Authorization: Bearer $PITSTOP_TOKEN" ${shellLine([...form, origin + command.path])}`;
}

/** Who uses a stored artifact, in words; the newest uses first as the server gives them. */
export function usesSentence(artifact: StoredArtifact): string {
  const uses = artifact.used_by;
  if (!uses.length) return "used by no job";
  const words = uses
    .slice(0, 2)
    .map((use) => `${use.name ?? use.job} version ${use.version}${use.current ? "" : " (before)"}`);
  const more = uses.length - words.length;
  return `used by ${words.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function artifactName(chosen: Artifact): string {
  if (chosen.from === "file") return chosen.file?.name ?? "";
  return (chosen.from === "stored" ? (chosen.stored ?? "") : chosen.place).trim();
}
