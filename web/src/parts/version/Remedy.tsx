import { Button, Code, Group, Text } from "@mantine/core";
import type { StageVerdict } from "../../api/client";
import { heirsOf, isConvertible, migrationHead } from "./remedies";

type Props = {
  line: StageVerdict;
  lines: StageVerdict[];
  /** Lets a stage of the new version take over the state of an old one, and checks again. */
  onCarry: (now: string, old: string) => void;
  busy: boolean;
};

/** So many stages are offered as heirs; the code can name any other. */
const MOST = 6;

/** What can be done about a line, right beside it. */
export function Remedy({ line, lines, onCarry, busy }: Props) {
  const heirs = heirsOf(line, lines);
  if (heirs.length) {
    return (
      <Group gap="xs" mt={6} role="group" aria-label={`What to do about ${line.stage}`}>
        {heirs.slice(0, MOST).map((heir) => (
          <Button
            key={heir}
            size="compact-sm"
            variant="default"
            loading={busy}
            onClick={() => onCarry(heir, line.stage)}
          >
            Let '{heir}' take it over, and check again
          </Button>
        ))}
      </Group>
    );
  }
  if (!isConvertible(line)) return null;
  return (
    <>
      <Text size="sm" mt={6}>
        Or convert it yourself: put such a function beside the job, and check again.
      </Text>
      <Code block mt={4} tabIndex={0}>
        {migrationHead(line.stage)}
      </Code>
    </>
  );
}
