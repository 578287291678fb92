import { Badge } from "@mantine/core";
import type { DisplayStatus } from "../api/client";
import { SIGNAL } from "./theme";

/** Colour and sign by state; the word is that of the command line and of SQL. */
const LOOKS: Record<DisplayStatus, { color: string; sign: string }> = {
  NOT_RUNNING: { color: SIGNAL.quiet, sign: "○" },
  STARTING: { color: SIGNAL.busy, sign: "◔" },
  RUNNING: { color: SIGNAL.good, sign: "●" },
  SUSPENDED: { color: SIGNAL.attention, sign: "❚❚" },
  SUSPENDED_EXPORTING_SNAPSHOT: { color: SIGNAL.attention, sign: "❚❚" },
  COMPLETING: { color: SIGNAL.busy, sign: "◕" },
  FAILED: { color: SIGNAL.bad, sign: "✕" },
  CANCELLED: { color: SIGNAL.quiet, sign: "■" },
  COMPLETED: { color: SIGNAL.done, sign: "✓" },
};

/** A state of a job, in the words that all doors use. */
export function StateChip({ state }: { state: DisplayStatus }) {
  const look = LOOKS[state];
  return (
    <Badge
      color={look.color}
      variant="filled"
      radius="sm"
      tt="none"
      leftSection={<span aria-hidden="true">{look.sign}</span>}
      styles={{ root: { flexShrink: 0 } }}
    >
      {state}
    </Badge>
  );
}
