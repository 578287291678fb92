import { Badge, Group, Stack, Tabs, Text, Title } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCluster } from "../../api/queries";
import { tabFrom } from "../../logic/tabs";
import { Loaded } from "../../parts/Trouble";
import { SIGNAL } from "../../parts/theme";
import { Audit } from "./Audit";
import { Health } from "./Health";
import { KeptStates } from "./KeptStates";
import { LogLevels } from "./LogLevels";
import { MemberList } from "./MemberList";
import { Settings } from "./Settings";
import { ShutDown } from "./ShutDown";

const route = getRouteApi("/cluster");
const TABS = {
  members: "Members",
  audit: "Audit",
  logging: "Logging",
  settings: "Settings",
  kept: "Kept states",
  health: "Health",
};

/** The cluster: who does the work, who has changed what, how to end it all in good order. */
export function ClusterScreen() {
  const cluster = useCluster();
  const { tab } = route.useSearch();
  const go = useNavigate({ from: "/cluster" });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Cluster
        </Title>
        <ShutDown />
      </Group>
      <Loaded query={cluster}>
        {(found) => (
          <Group gap="xl">
            <Badge size="lg" radius="sm" tt="none" color={found.state === "ACTIVE" ? SIGNAL.good : SIGNAL.attention}>
              {found.state}
            </Badge>
            <Fact name="Version" value={found.version} />
            <Fact name="Members" value={String(found.size)} />
            <Fact name="Running jobs" value={String(found.running_jobs)} />
            <Fact name="Leads" value={found.leader ?? "nobody at this moment"} />
          </Group>
        )}
      </Loaded>
      <Tabs
        value={tabFrom(TABS, tab, "members")}
        onChange={(next) =>
          void go({ search: { tab: next === "members" ? undefined : (next ?? undefined) }, replace: true })
        }
        keepMounted={false}
      >
        <Tabs.List>
          {Object.entries(TABS).map(([value, label]) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="members" pt="md">
          <MemberList />
        </Tabs.Panel>
        <Tabs.Panel value="audit" pt="md">
          <Audit />
        </Tabs.Panel>
        <Tabs.Panel value="logging" pt="md">
          <LogLevels />
        </Tabs.Panel>
        <Tabs.Panel value="settings" pt="md">
          <Settings />
        </Tabs.Panel>
        <Tabs.Panel value="kept" pt="md">
          <KeptStates />
        </Tabs.Panel>
        <Tabs.Panel value="health" pt="md">
          <Health />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <Text size="sm">
      <Text span c="dimmed" inherit>
        {name}
      </Text>{" "}
      <Text span fw={600} inherit className="figure">
        {value}
      </Text>
    </Text>
  );
}
