import { Button, Group, Paper, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { PlaceLink } from "../../../parts/links";
import { When } from "../../../parts/When";
import { keyText } from "../keys";
import { shortValue } from "../values/difference";
import type { Picture } from "./picture";
import type { Shown } from "./shown";

const route = getRouteApi("/maps/$map");

type Props = {
  picture: Picture;
  /** What it says changes with this. */
  shown: Shown;
  objectKey: string;
  followed: boolean;
  onFollow: (on: boolean) => void;
  onClose: (() => void) | undefined;
};

/** One object: where it is, what is wrong with it, and the way to its entry. */
export function ObjectCard({ picture, objectKey, followed, onFollow, onClose }: Props) {
  const search = route.useSearch();
  const kept = picture.replay.entries.get(objectKey);
  const place = kept && picture.stage.appearance.degreesOf(kept.value);
  const faults = kept ? picture.stage.appearance.faultsOf(kept.value) : [];
  return (
    <Paper withBorder p="xs" component="section" aria-label="The chosen object">
      <Group gap="md" justify="space-between">
        <Group gap="md" mih={30}>
          <PlaceLink fw={600} className="breaks" from={route.id} search={{ ...search, key: objectKey }}>
            {keyText(objectKey)}
          </PlaceLink>
          <Text size="sm" className="figure">
            {place
              ? `${place[1].toFixed(5)}, ${place[0].toFixed(5)}`
              : kept
                ? "without a place"
                : "not there at this moment"}
          </Text>
          {kept && (
            <Text size="sm" c="dimmed">
              written <When at={new Date(kept.at).toISOString()} />
            </Text>
          )}
          {faults.length > 0 && (
            <Text size="sm" c="red" fw={600} className="breaks">
              {shortValue(faults, 200)}
            </Text>
          )}
        </Group>
        <Group gap="xs">
          <Button size="compact-sm" variant="default" aria-pressed={followed} onClick={() => onFollow(!followed)}>
            {followed ? "Stop following" : "Follow"}
          </Button>
          {onClose && (
            <Button size="compact-sm" variant="default" onClick={onClose}>
              Close
            </Button>
          )}
        </Group>
      </Group>
    </Paper>
  );
}
