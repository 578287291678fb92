import { Group, Progress, Stack, Text } from "@mantine/core";
import type { MapFacts } from "../../../api/client";
import { count, UNKNOWN } from "../../../logic/format";

/** So many events the journal of a map holds. */
export function eventsKept(map: MapFacts): number {
  return Math.max(0, map.newest - map.oldest + 1);
}

/** How full the journal is: as a bar and in figures. */
export function JournalFill({ map }: { map: MapFacts }) {
  if (!map.journal_capacity) return <Text size="sm">No journal</Text>;
  const kept = eventsKept(map);
  return (
    <Stack gap={2}>
      <Progress.Root size="sm" aria-hidden="true">
        <Progress.Section value={Math.min(100, (100 * kept) / map.journal_capacity)} aria-label="Journal" />
      </Progress.Root>
      <Text size="xs" className="figure">
        {count(kept)} of {count(map.journal_capacity)}
      </Text>
    </Stack>
  );
}

/** The first and the last event that the journal of a map holds. */
export function Sequences({ map }: { map: MapFacts }) {
  return (
    <Group gap={4} wrap="nowrap" className="figure" justify="flex-end">
      {eventsKept(map) ? `${count(map.oldest)} – ${count(map.newest)}` : UNKNOWN}
    </Group>
  );
}
