/** What can be done with the cluster, as lines for a terminal. */
import { type Command, operands, pathTo } from "../../logic/commands";

export function shutDownCommand(): Command {
  return { cli: ["pitstop", "cluster", "shutdown"], method: "POST", path: pathTo("cluster", "shutdown") };
}

export function addMemberCommand(): Command {
  return { cli: ["pitstop", "cluster", "add-member"], method: "POST", path: pathTo("cluster", "members") };
}

export function removeMemberCommand(name: string): Command {
  return {
    cli: ["pitstop", "cluster", "remove-member", ...operands(name)],
    method: "DELETE",
    path: pathTo("cluster", "members", name),
  };
}

/** `level` null: as if it had never been set. */
export function logLevelCommand(body: { logger: string; level: string | null; job: string | null }): Command {
  const { logger, level, job } = body;
  return {
    cli: ["pitstop", "log-level", ...(job ? ["--job", job] : []), ...operands(logger, level ?? "usual")],
    method: "PUT",
    path: "/api/v1/log-levels",
    body,
  };
}

export const settingsCommand = (): Command => ({
  cli: ["pitstop", "cluster", "settings"],
  method: "GET",
  path: pathTo("settings"),
});
