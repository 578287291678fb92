import { Group, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { tellProblem } from "../../parts/confirm";
import { Loaded } from "../../parts/Trouble";
import { useAction } from "../../parts/useAction";
import { useViewerRefusal } from "../../parts/viewer";
import { logLevelCommand } from "./commands";

const KEY = ["log-levels"];
const USUAL = "as usual";
const LEVELS = [USUAL, "trace", "debug", "info", "warn", "error", "off"];
const SCOPES: Record<string, string> = { usual: "usual", all: "servers and all jobs", job: "runs of one job" };

/** How much the loggers tell, changed while everything runs. */
export function LogLevels() {
  const client = useQueryClient();
  const viewer = useViewerRefusal();
  const [logger, setLogger] = useState("");
  const [level, setLevel] = useState<string>("debug");
  const [job, setJob] = useState("");
  const levels = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => answered(api.GET("/api/v1/log-levels", { signal })),
  });
  const body = { logger, level: level === USUAL ? null : level, job: job || null };
  const set = useAction({
    mutationFn: () => answered(api.PUT("/api/v1/log-levels", { body })),
    onSuccess: () => void client.invalidateQueries({ queryKey: KEY }),
    onError: tellProblem,
  });
  const missing = logger ? null : "Name a logger first, such as pitstop.source.http_poll.";
  return (
    <Stack>
      <Group align="end">
        <TextInput
          label="Logger"
          placeholder="pitstop.source.http_poll"
          value={logger}
          onChange={(event) => setLogger(event.currentTarget.value)}
          disabled={viewer !== null}
        />
        <Select
          label="Level"
          data={LEVELS}
          value={level}
          onChange={(next) => setLevel(next ?? USUAL)}
          allowDeselect={false}
          disabled={viewer !== null}
        />
        <TextInput
          label="Only of this job"
          placeholder="all"
          value={job}
          onChange={(event) => setJob(event.currentTarget.value)}
          disabled={viewer !== null}
        />
        <Group gap={4}>
          <ActionButton onClick={() => set.mutate()} refused={viewer ?? missing} loading={set.isPending}>
            Set level
          </ActionButton>
          <CopyAs label="Set level" command={logLevelCommand(body)} />
        </Group>
      </Group>
      <Loaded query={levels}>
        {(found) => (
          <Table maw={720}>
            <Table.Thead>
              <Table.Tr>
                {["Logger", "Level", "Set for"].map((head) => (
                  <Table.Th key={head}>{head}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.map((each) => (
                <Table.Tr key={`${each.scope} ${each.logger}`}>
                  <Table.Td className="breaks">{each.logger}</Table.Td>
                  <Table.Td>{each.level}</Table.Td>
                  <Table.Td>
                    <Text size="sm">{SCOPES[each.scope] ?? each.scope}</Text>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Loaded>
    </Stack>
  );
}
