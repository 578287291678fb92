import { Badge, Code, Group, Modal, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import type { Job, OptionInForce } from "../../../api/client";
import { ActionButton } from "../../../parts/ActionButton";
import { Loaded } from "../../../parts/Trouble";
import { ConfigureForm } from "../actions/ConfigureForm";
import { useOptions } from "../api/reads";
import { useRefusals } from "../api/verbs";
import { matchingOptions, shownValue } from "../logic/options";
import { useSetting } from "../useSetting";

const ORIGINS: Record<OptionInForce["origin"], string> = {
  asked: "asked for",
  code: "in the job's code",
  default: "default",
};

/** The options in force, and where each value comes from. */
export function Configuration({ job }: { job: Job }) {
  const query = useOptions(job);
  const refused = useRefusals(job).configure;
  const [words, setWords] = useSetting("find");
  const [origin, setOrigin] = useSetting("origin", "all");
  const [open, setOpen] = useState(false);
  return (
    <Loaded query={query} height={400}>
      {(options) => {
        const found = matchingOptions(options, words, origin);
        return (
          <Stack>
            <Group align="end">
              <TextInput
                label="Find an option"
                leftSection={<IconSearch size={16} aria-hidden="true" />}
                value={words}
                onChange={(event) => setWords(event.currentTarget.value)}
              />
              <Select
                label="Where its value comes from"
                value={origin}
                onChange={(value) => setOrigin(value ?? "all")}
                allowDeselect={false}
                data={[
                  { value: "all", label: "anywhere" },
                  ...Object.entries(ORIGINS).map(([value, label]) => ({ value, label })),
                ]}
              />
              <ActionButton variant="default" refused={refused} onClick={() => setOpen(true)}>
                Configure
              </ActionButton>
            </Group>
            <Text size="sm" c="dimmed" role="status">
              {found.length === options.length
                ? `${options.length} options`
                : `${found.length} of ${options.length} options`}
            </Text>
            <Table.ScrollContainer minWidth={820} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
              <Table aria-label="Options" layout="fixed" withTableBorder verticalSpacing="xs">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th w={240}>Option</Table.Th>
                    <Table.Th w={220}>Value</Table.Th>
                    <Table.Th w={150}>From</Table.Th>
                    <Table.Th>Meaning</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {found.map((option) => (
                    <Table.Tr key={option.name}>
                      <Table.Th scope="row" className="breaks">
                        {option.name}
                      </Table.Th>
                      <Table.Td className="breaks">
                        <Code>{shownValue(option)}</Code>
                      </Table.Td>
                      <Table.Td>
                        <Badge
                          variant={option.origin === "default" ? "outline" : "filled"}
                          color={option.origin === "default" ? "var(--mantine-color-text)" : "dark.4"}
                          radius="sm"
                          tt="none"
                        >
                          {ORIGINS[option.origin]}
                        </Badge>
                      </Table.Td>
                      <Table.Td>{option.meaning}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
            <Modal title="Configure" opened={open} onClose={() => setOpen(false)} size="lg" centered>
              <ConfigureForm
                job={job}
                options={options}
                refused={refused}
                onClose={() => setOpen(false)}
                onDone={() => {
                  setOpen(false);
                  void query.refetch();
                  notifications.show({
                    message: "The next run has these options.",
                    closeButtonProps: { "aria-label": "Close" },
                  });
                }}
              />
            </Modal>
          </Stack>
        );
      }}
    </Loaded>
  );
}
