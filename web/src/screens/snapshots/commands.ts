/** What can be done with a snapshot, as lines for a terminal. */
import { type Command, operands, pathTo } from "../../logic/commands";

/** Remove it. */
export function deletion(name: string): Command {
  return { cli: ["pitstop", "delete-snapshot", ...operands(name)], method: "DELETE", path: pathTo("snapshots", name) };
}

/** Compare it with another. */
export function comparison(name: string, other: string): Command {
  const query = `?other=${encodeURIComponent(other)}`;
  return {
    cli: ["pitstop", "snapshot", "diff", ...operands(name, other)],
    method: "GET",
    path: `${pathTo("snapshots", name, "diff")}${query}`,
  };
}

/** Show what it holds. */
export function inspection(name: string): Command {
  return { cli: ["pitstop", "snapshot", "inspect", ...operands(name)], method: "GET", path: pathTo("snapshots", name) };
}

/** Ask for rows of a stage's state. */
export function stateQuery(name: string, stage: string, sql: string, limit: number): Command {
  return {
    cli: ["pitstop", "snapshot", "query", "--limit", String(limit), ...operands(name, stage, sql)],
    method: "POST",
    path: pathTo("snapshots", name, "stages", stage, "query"),
    body: { sql, limit },
  };
}

/** Take a stage's state out as a file. */
export function stateExport(name: string, stage: string): Command {
  return {
    cli: ["pitstop", "snapshot", "export", ...operands(name, stage, fileName(name, stage))],
    method: "GET",
    path: pathTo("snapshots", name, "stages", stage, "state"),
  };
}

/** What a file with a stage's state is called: signs that a file system may not have are left out. */
export function fileName(name: string, stage: string): string {
  return `${name}-${stage}.parquet`.replace(/[^\p{L}\p{N}._-]+/gu, "_");
}
