import { Group, Modal, Stack, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { JournalEvent } from "../../../api/client";
import { count } from "../../../logic/format";
import { Copied } from "../../../parts/Copied";
import { CopyAs } from "../../../parts/CopyAs";
import { PlaceLink } from "../../../parts/links";
import { When } from "../../../parts/When";
import { eventCommand } from "../commands";
import { keyText } from "../keys";
import { DifferenceTable } from "../values/DifferenceTable";
import { changesOf, eventText } from "./changes";
import { KindBadge } from "./KindBadge";

const route = getRouteApi("/maps/$map");

/** All that one event of the journal has changed. */
export function EventDialog({ map, event, onClose }: { map: string; event: JournalEvent; onClose: () => void }) {
  const search = route.useSearch();
  const found = changesOf(event);
  return (
    <Modal opened onClose={onClose} size="xl" title={`Event ${count(event.sequence)}`}>
      <Stack gap="sm">
        <Group gap="md">
          <KindBadge kind={event.kind} />
          <PlaceLink
            className="breaks"
            size="sm"
            from={route.id}
            search={{ ...search, key: event.key }}
            onClick={onClose}
          >
            {keyText(event.key)}
          </PlaceLink>
          <Text size="sm" c="dimmed">
            <When at={event.at} />
          </Text>
        </Group>
        {found.length ? (
          <DifferenceTable label="What has changed" found={found} />
        ) : (
          <Text size="sm">It was written again with the same value.</Text>
        )}
        <Group gap="xs">
          <Copied label="Copy key" text={event.key} />
          <Copied label="Copy event" text={eventText(event)} />
          <CopyAs command={eventCommand(map, event.sequence)} label="reading this event" />
        </Group>
      </Stack>
    </Modal>
  );
}
