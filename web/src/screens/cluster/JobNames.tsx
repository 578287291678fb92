import { Group, Text } from "@mantine/core";
import { PlaceLink } from "../../parts/links";

/** Links to jobs, or a dash where there are none. */
export function JobNames({ names }: { names: string[] }) {
  if (!names.length) return <Text size="sm">–</Text>;
  return (
    <Group gap="xs">
      {names.map((name) => (
        <PlaceLink key={name} to="/jobs/$job" params={{ job: name }} size="sm">
          {name}
        </PlaceLink>
      ))}
    </Group>
  );
}
