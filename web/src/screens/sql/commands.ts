/** Statements as lines for a terminal, and as an address. */
import { type Command, pathTo } from "../../logic/commands";
import { quotedName } from "./words";

export function sqlCommand(statements: string): Command {
  return { cli: ["pitstop", "sql", "-e", statements], method: "POST", path: pathTo("sql"), body: { statements } };
}

/** A link that fills the editor of whoever opens it, and runs nothing. */
export function sqlLink(statements: string, origin: string): string {
  return `${origin}/sql?${new URLSearchParams({ q: statements })}`;
}

/** The query for what a snapshot has kept of a stage. */
export function queryOfStage(snapshot: string, stage: string): string {
  return `SELECT * FROM SNAPSHOT ${always(snapshot)} STAGE ${always(stage)} AS state`;
}

function always(name: string): string {
  const found = quotedName(name);
  return found.startsWith('"') ? found : `"${found}"`;
}
