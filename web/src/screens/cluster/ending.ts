/** How far the end of a cluster is, by what its server still says. */
import type { Cluster } from "../../api/client";
import type { Connection } from "../../api/live";

export type Ending = {
  phase: "asked" | "ending" | "clean" | "lost";
  /** Names of the jobs whose runs have not ended yet. */
  left: string[];
};

type Seen = { begun: boolean; cluster: Pick<Cluster, "state" | "ending"> | undefined; connection: Connection };

/** What follows on `before`. A server that is gone was clean if all jobs had ended when it was last heard of. */
export function endingOf(before: Ending, { begun, cluster, connection }: Seen): Ending {
  if (!begun || before.phase === "clean" || before.phase === "lost") return before;
  const known = cluster?.state === "PASSIVE";
  const left = known ? cluster.ending : before.left;
  if (connection === "lost") return { phase: left.length ? "lost" : "clean", left };
  return { phase: "ending", left };
}
