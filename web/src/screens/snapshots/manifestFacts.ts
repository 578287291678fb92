/** What a snapshot holds, in facts that people read: by stage and source. */
import type { SnapshotManifest } from "../../api/client";

export type SavedStage = {
  stage: string;
  kind: string;
  keys: string;
  what: string;
  /** As last counted by its run; null if it was not. */
  rows: number | null;
  bytes: number;
  /** Its rows were put in the place of its state. */
  imported: boolean;
};
export type SavedOffset = { source: string; reader: string; offset: string };

type Contents = Pick<SnapshotManifest, "plan" | "stages" | "files" | "imported" | "offsets">;

/** Every stage with state, in the order in which the pipeline defines them. */
export function stagesOf(manifest: Contents): SavedStage[] {
  const plan = manifest.plan as { stages?: PlanStage[]; operators?: [string, string, number?][] };
  return (plan.stages ?? [])
    .filter((stage) => stage.layout)
    .map((stage) => {
      const folders = (plan.operators ?? []).flatMap(([name], place) =>
        name === stage.name ? [`state/${place}/`] : [],
      );
      const imported = own(manifest.imported, stage.name);
      const files = imported ?? manifest.files.filter((file) => folders.some((folder) => file.path.startsWith(folder)));
      const rows = own(manifest.stages, stage.name)?.rows;
      return {
        stage: stage.name,
        kind: stage.layout?.kind ?? stage.kind,
        keys: (stage.layout?.keys ?? []).map(([key, type]) => `${key} ${type}`).join(", "),
        what: stage.description,
        rows: typeof rows === "number" ? rows : null,
        bytes: files.reduce((sum, file) => sum + file.bytes, 0),
        imported: imported !== undefined,
      };
    });
}

/** Where each source is read on, and by what. */
export function offsetsOf(manifest: Pick<Contents, "offsets">): SavedOffset[] {
  return Object.entries(manifest.offsets)
    .flatMap(([source, readers]) => Object.entries(readers).map(([reader, offset]) => ({ source, reader, offset })))
    .sort((a, b) => compare(a.source, b.source) || compare(a.reader, b.reader));
}

/** Size of all its files. */
export function bytesOf(manifest: Pick<Contents, "files" | "imported">): number {
  return [manifest.files, ...Object.values(manifest.imported)].flat().reduce((sum, file) => sum + file.bytes, 0);
}

/** JSON text with a line a value, short lists on one, as far as it is JSON. */
export function spread(text: string): string {
  try {
    return lines(JSON.parse(text), "");
  } catch {
    return text;
  }
}

/** The jobs that have started from a snapshot, and have not ended. */
export function startedFrom<J extends { status: string; config: { initial_snapshot: string | null } }>(
  jobs: J[],
): Map<string, J[]> {
  const found = new Map<string, J[]>();
  for (const job of jobs) {
    const name = job.config.initial_snapshot;
    if (name === null || job.status === "FAILED" || job.status === "COMPLETED") continue;
    found.set(name, [...(found.get(name) ?? []), job]);
  }
  return found;
}

const LINE = 100;

function lines(value: unknown, indent: string): string {
  const short = JSON.stringify(value);
  if (typeof value !== "object" || value === null) return short;
  if (Array.isArray(value) && short.length <= LINE) return short;
  const deeper = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((part) => deeper + lines(part, deeper))
    : Object.entries(value).map(([name, part]) => `${deeper}${JSON.stringify(name)}: ${lines(part, deeper)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return parts.length ? `${open}\n${parts.join(",\n")}\n${indent}${close}` : open + close;
}

type PlanStage = {
  name: string;
  kind: string;
  description: string;
  layout: { kind: string; keys: [string, string][] } | null;
};

function own<T>(record: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
