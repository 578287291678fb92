import { Anchor, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

/** Links to jobs, or a dash where there are none. */
export function JobNames({ names }: { names: string[] }) {
  if (!names.length) return <Text size="sm">–</Text>;
  return (
    <Group gap="xs">
      {names.map((name) => (
        <Anchor key={name} component={Link} to="/jobs/$job" params={{ job: name } as never} size="sm">
          {name}
        </Anchor>
      ))}
    </Group>
  );
}
