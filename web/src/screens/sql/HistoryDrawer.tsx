import { Button, Drawer, Stack, Text, UnstyledButton } from "@mantine/core";
import { When } from "../../parts/When";
import type { Run } from "./history";
import classes from "./sql.module.css";

type Props = {
  opened: boolean;
  runs: Run[];
  onPick: (text: string) => void;
  onForget: () => void;
  onClose: () => void;
};

/** What was run before: one of them is written into the editor again, and nothing is run by that. */
export function HistoryDrawer({ opened, runs, onPick, onForget, onClose }: Props) {
  return (
    <Drawer title="History" opened={opened} onClose={onClose} position="right" size="lg">
      <Stack>
        <Text size="sm" c="dimmed">
          The last 100 texts that were run in this browser, without what they gave. Whoever uses this browser can read
          them.
        </Text>
        {runs.length === 0 && <Text>Nothing was run yet.</Text>}
        <ul className={classes.runs} aria-label="Statements that were run">
          {runs.map((run) => (
            <li key={run.text}>
              <UnstyledButton className={classes.run} onClick={() => onPick(run.text)}>
                <span className={classes.statement}>{run.text}</span>
                <Text size="xs" c="dimmed" component="span">
                  <When at={new Date(run.at).toISOString()} />
                </Text>
              </UnstyledButton>
            </li>
          ))}
        </ul>
        {runs.length > 0 && (
          <Button variant="default" w="fit-content" onClick={onForget}>
            Forget all
          </Button>
        )}
      </Stack>
    </Drawer>
  );
}
