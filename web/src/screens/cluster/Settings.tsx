import { Code, Group, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";

import { CopyAs } from "../../parts/CopyAs";
import { Loaded } from "../../parts/Trouble";
import { settingsCommand } from "./commands";

/** How much the server keeps of what grows: what is in force, what is usual, and what it is about. */
export function Settings() {
  const settings = useQuery({
    queryKey: ["settings"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/settings", { signal })),
  });
  return (
    <Stack>
      <Group gap={4}>
        <Text size="sm">
          Settings of the server that serves this page; they are given when it starts, such as{" "}
          <Code>pitstop serve --keep audit=20000</Code>.
        </Text>
        <CopyAs label="reading the settings" command={settingsCommand()} />
      </Group>
      <Loaded query={settings}>
        {({ keep }) => (
          <Table.ScrollContainer minWidth={560} tabIndex={0} aria-label="Settings">
            <Table>
              <Table.Thead>
                <Table.Tr>
                  {["Setting", "Value", "Default", "What is kept"].map((head) => (
                    <Table.Th key={head}>{head}</Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {keep.map((each) => (
                  <Table.Tr key={each.name}>
                    <Table.Th scope="row">{each.name}</Table.Th>
                    <Table.Td fw={each.value === each.usual ? undefined : 700}>{each.value}</Table.Td>
                    <Table.Td>{each.usual}</Table.Td>
                    <Table.Td>{each.meaning}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </Loaded>
    </Stack>
  );
}
