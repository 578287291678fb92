import { Button, Group, Text } from "@mantine/core";
import { Seconds } from "../Seconds";

/** Says that a check goes on, and for how long, and can end it. */
export function Checking({ pending, onStop }: { pending: boolean; onStop: () => void }) {
  if (!pending) return null;
  return (
    <Group gap="sm" role="status">
      <Text size="sm">
        A process of its own compiles it: <Seconds /> so far.
      </Text>
      <Button variant="default" size="xs" onClick={onStop}>
        Stop the check
      </Button>
    </Group>
  );
}
