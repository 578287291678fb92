/** How far the end of a cluster is, by what its server still says. */
import type { Cluster } from "../../api/client";
import type { Connection } from "../../api/live";

export type Ending = {
  phase: "asked" | "ending" | "clean" | "lost";
  /** Names of the jobs whose runs have not ended yet; null as long as the server has not said which these are. */
  left: string[] | null;
};

type Seen = { begun: boolean; cluster: Pick<Cluster, "state" | "ending"> | undefined; connection: Connection };

/** What follows on `before`. A server that is gone was clean if it had said before that all jobs have ended. */
export function endingOf(before: Ending, { begun, cluster, connection }: Seen): Ending {
  if (!begun || before.phase === "clean") return before;
  const left = cluster?.state === "PASSIVE" ? cluster.ending : before.left;
  // What the server said last may come to be known just after its connection was seen to break.
  if (connection === "lost" || before.phase === "lost") return { phase: left?.length === 0 ? "clean" : "lost", left };
  return { phase: "ending", left };
}
