import { Badge } from "@mantine/core";
import type { JournalEvent } from "../../../api/client";
import { SIGNAL } from "../../../parts/theme";

const COLOURS: Record<JournalEvent["kind"], string> = {
  ADDED: SIGNAL.good,
  UPDATED: SIGNAL.busy,
  REMOVED: SIGNAL.attention,
  EXPIRED: SIGNAL.quiet,
};

/** What happened to an entry. */
export function KindBadge({ kind }: { kind: JournalEvent["kind"] }) {
  return (
    <Badge color={COLOURS[kind]} variant="filled" radius="sm" size="sm" tt="none">
      {kind}
    </Badge>
  );
}
