import { Badge, Button, Code, Group, Modal, Stack, Table, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import type { Job, JobVersion } from "../../../api/client";
import { ActionButton } from "../../../parts/ActionButton";
import { Loaded } from "../../../parts/Trouble";
import { When } from "../../../parts/When";
import { GoBackForm } from "../actions/GoBackForm";
import { useVersions } from "../api/reads";
import { useRefusals } from "../api/verbs";
import { valueText } from "../logic/options";
import { useSetting } from "../useSetting";
import { VersionGraphs } from "./VersionGraphs";

/** The versions that a job has and had. */
export function Versions({ job }: { job: Job }) {
  const query = useVersions(job);
  const refused = useRefusals(job).update;
  const [shown, setShown] = useSetting("version");
  const [back, setBack] = useState<JobVersion | null>(null);
  const [open, setOpen] = useState(false);
  const compared = query.data?.find((version) => String(version.number) === shown);
  return (
    <Loaded query={query}>
      {(versions) => (
        <Stack>
          <Table.ScrollContainer minWidth={720} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
            <Table aria-label="Versions" withTableBorder verticalSpacing="xs">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Version</Table.Th>
                  <Table.Th>Since</Table.Th>
                  <Table.Th>Code</Table.Th>
                  <Table.Th>Arguments and options</Table.Th>
                  <Table.Th>Actions</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {versions.map((version) => (
                  <Table.Tr key={version.number}>
                    <Table.Th scope="row">
                      <Group gap="xs" wrap="nowrap">
                        {version.number}
                        {version.current && (
                          <Badge
                            variant="outline"
                            color="var(--mantine-color-text)"
                            radius="sm"
                            tt="none"
                            miw="fit-content"
                          >
                            present
                          </Badge>
                        )}
                      </Group>
                    </Table.Th>
                    <Table.Td>
                      <When at={version.since} />
                    </Table.Td>
                    <Table.Td className="breaks">
                      {version.artifact}
                      {version.entry && ` · ${version.entry}`}
                    </Table.Td>
                    <Table.Td className="breaks" maw={420}>
                      <Asked version={version} />
                    </Table.Td>
                    <Table.Td>
                      <Group gap="xs" wrap="nowrap">
                        <Button
                          size="compact-sm"
                          variant="default"
                          aria-pressed={shown === String(version.number)}
                          aria-label={`Graph of version ${version.number}`}
                          onClick={() => setShown(shown === String(version.number) ? "" : String(version.number))}
                        >
                          Graph
                        </Button>
                        <ActionButton
                          size="compact-sm"
                          variant="default"
                          aria-label={`Go back to this version: ${version.number}`}
                          refused={version.current ? "The job has this version now." : refused}
                          onClick={() => {
                            setBack(version);
                            setOpen(true);
                          }}
                        >
                          Go back to this version
                        </ActionButton>
                      </Group>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          {compared && <VersionGraphs key={compared.number} job={job} version={compared.number} />}
          <Modal
            title={`Go back to version ${back?.number}`}
            opened={open}
            onClose={() => setOpen(false)}
            size="lg"
            centered
          >
            {back && (
              <GoBackForm
                job={job}
                version={back}
                refused={refused}
                onClose={() => setOpen(false)}
                onDone={() => {
                  setOpen(false);
                  notifications.show({
                    message: `${job.name ?? job.id} runs the code of version ${back.number} again.`,
                    closeButtonProps: { "aria-label": "Close" },
                  });
                }}
              />
            )}
          </Modal>
        </Stack>
      )}
    </Loaded>
  );
}

function Asked({ version }: { version: JobVersion }) {
  const options = Object.entries(version.options);
  if (version.args.length === 0 && options.length === 0) return <Text c="dimmed">none</Text>;
  return (
    <Stack gap={2}>
      {version.args.length > 0 && <Code>{version.args.join(" ")}</Code>}
      {options.map(([name, value]) => (
        <Text key={name} size="sm">
          {name} = {valueText(value)}
        </Text>
      ))}
    </Stack>
  );
}
