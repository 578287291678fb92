import { Badge } from "@mantine/core";
import { IconArrowsExchange, IconCheck, IconMinus, IconPlus, type IconProps, IconX } from "@tabler/icons-react";
import type { ComponentType } from "react";
import { MARK_COLORS } from "./graph/looks";
import type { Verdict } from "./report";

const SIGNS: Record<Verdict, ComponentType<IconProps>> = {
  refused: IconX,
  dropped: IconMinus,
  converted: IconArrowsExchange,
  new: IconPlus,
  restored: IconCheck,
};

/** What becomes of a stage's state, as a word, a sign and a colour. */
export function VerdictBadge({ verdict, count }: { verdict: Verdict; count?: number }) {
  const Icon = SIGNS[verdict];
  return (
    <Badge
      color={MARK_COLORS[verdict]}
      variant="filled"
      radius="sm"
      tt="none"
      leftSection={<Icon size={12} stroke={3} aria-hidden="true" />}
      styles={{ root: { flexShrink: 0 } }}
    >
      {count === undefined ? verdict : `${count} ${verdict}`}
    </Badge>
  );
}
