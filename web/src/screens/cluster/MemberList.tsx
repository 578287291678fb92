import { Badge, Group, Stack, Table } from "@mantine/core";
import { answered, api, type Cluster, type Member } from "../../api/client";
import { useCluster } from "../../api/queries";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { confirm, tellProblem } from "../../parts/confirm";
import { Empty, Loaded } from "../../parts/Trouble";
import { SIGNAL } from "../../parts/theme";
import { useAction } from "../../parts/useAction";
import { useViewerRefusal } from "../../parts/viewer";
import { When } from "../../parts/When";
import { addMemberCommand, removeMemberCommand } from "./commands";
import { EngineTable } from "./EngineTable";
import { JobNames } from "./JobNames";

/** Members, what runs on each, and one more or one less of them. */
export function MemberList() {
  const cluster = useCluster();
  const add = useAction({ mutationFn: () => answered(api.POST("/api/v1/cluster/members")), onError: tellProblem });
  const viewer = useViewerRefusal();
  const none = cluster.data?.size === 0 ? "This server has no members of its own: start it with --members." : null;
  return (
    <Stack>
      <Group gap={4}>
        <ActionButton variant="default" onClick={() => add.mutate()} refused={viewer ?? none} loading={add.isPending}>
          Add a member
        </ActionButton>
        <CopyAs label="Add a member" command={addMemberCommand()} />
      </Group>
      <Loaded query={cluster}>
        {(found) => (
          <>
            <MemberTable cluster={found} viewer={viewer} />
            <EngineTable engines={found.engines} />
          </>
        )}
      </Loaded>
    </Stack>
  );
}

function MemberTable({ cluster, viewer }: { cluster: Cluster; viewer: string | null }) {
  if (!cluster.members.length) {
    return (
      <Empty title="No members" command="pitstop serve --members 2">
        Jobs run on the server's own machine.
      </Empty>
    );
  }
  return (
    <Table.ScrollContainer minWidth={760} tabIndex={0} aria-label="Members">
      <Table>
        <Table.Thead>
          <Table.Tr>
            {["Name", "Address", "State", "Version", "Cores", "Jobs", "Joined", "Last heard of", "Actions"].map(
              (head) => (
                <Table.Th key={head}>{head}</Table.Th>
              ),
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {cluster.members.map((member) => (
            <Table.Tr key={member.uuid}>
              <Table.Td title={member.uuid}>{member.name}</Table.Td>
              <Table.Td>{member.address}</Table.Td>
              <Table.Td>
                <Badge radius="sm" tt="none" color={member.state === "ACTIVE" ? SIGNAL.good : SIGNAL.attention}>
                  {member.state}
                </Badge>
              </Table.Td>
              <Table.Td>{member.version}</Table.Td>
              <Table.Td>{member.cores}</Table.Td>
              <Table.Td>
                <JobNames names={member.jobs} />
              </Table.Td>
              <Table.Td>
                <When at={member.joined} />
              </Table.Td>
              <Table.Td>
                <When at={member.seen} />
              </Table.Td>
              <Table.Td>
                <Remove member={member} refused={viewer ?? lastOne(cluster)} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function lastOne(cluster: Cluster): string | null {
  return cluster.size > 1 ? null : "It is the last member: jobs would have nowhere to run.";
}

function Remove({ member, refused }: { member: Member; refused: string | null }) {
  const remove = useAction({
    mutationFn: () =>
      answered(api.DELETE("/api/v1/cluster/members/{name}", { params: { path: { name: member.name } } })),
    onError: tellProblem,
  });
  const ask = () =>
    confirm({
      title: `Remove member ${member.name}?`,
      children: "It ends what it does at an epoch boundary, and leaves; its jobs go on with the others.",
      does: "Remove member",
      keeps: "Keep member",
      onConfirm: () => remove.mutate(),
    });
  const leaving = member.state === "ACTIVE" ? null : "It is leaving already.";
  return (
    <Group gap={4} wrap="nowrap">
      <ActionButton
        size="xs"
        variant="default"
        onClick={ask}
        refused={refused ?? leaving}
        loading={remove.isPending}
        aria-label={`Remove member ${member.name}`}
      >
        Remove
      </ActionButton>
      <CopyAs label={`Remove ${member.name}`} command={removeMemberCommand(member.name)} />
    </Group>
  );
}
