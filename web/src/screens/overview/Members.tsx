import { Badge, Group, Paper, Stack, Text, Title } from "@mantine/core";
import type { Cluster } from "../../api/client";
import { PlaceLink } from "../../parts/links";
import { SIGNAL } from "../../parts/theme";

/** So many are shown here; the screen of the cluster has all. */
const MOST = 6;

/** The members of the cluster, and how much each has to do. */
export function Members({ cluster }: { cluster: Cluster }) {
  return (
    <Paper withBorder p="md" h="100%">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h5">
          Members
        </Title>
        <PlaceLink to="/cluster" size="sm">
          Cluster
        </PlaceLink>
      </Group>
      {cluster.members.length === 0 && <Text size="sm">Jobs run on the server's own machine: it has no members.</Text>}
      <Stack gap={6}>
        {cluster.members.slice(0, MOST).map((member) => (
          <Group key={member.uuid} justify="space-between" wrap="nowrap">
            <Text size="sm" truncate>
              {member.name} <Text span c="dimmed" inherit>{`${member.address} · ${member.cores} cores`}</Text>
            </Text>
            <Group gap="xs" wrap="nowrap">
              <Text size="sm" className="figure">
                {member.jobs.length} {member.jobs.length === 1 ? "job" : "jobs"}
              </Text>
              <Badge radius="sm" tt="none" color={member.state === "ACTIVE" ? SIGNAL.good : SIGNAL.attention}>
                {member.state}
              </Badge>
            </Group>
          </Group>
        ))}
        {cluster.members.length > MOST && <Text size="sm">and {cluster.members.length - MOST} more</Text>}
      </Stack>
    </Paper>
  );
}
