import { Alert, Group, List, Stack, Text, Title } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import type { Trouble } from "../../logic/problems";
import { JobLink } from "../../parts/JobLink";
import { StateChip } from "../../parts/StateChip";
import { When } from "../../parts/When";

/** So many are shown; the rest is in the list of jobs. */
const MOST = 8;

/** Jobs that need somebody, with the cause in words; or that there are none. */
export function TroubleList({ troubles }: { troubles: Trouble[] }) {
  if (!troubles.length) {
    return (
      <Alert color="green" variant="outline" icon={<IconCircleCheck aria-hidden="true" />}>
        <Text c="var(--mantine-color-text)">No job needs you.</Text>
      </Alert>
    );
  }
  return (
    <Alert color="red" variant="outline">
      <Title order={2} size="h5" mb="xs">
        {troubles.length === 1 ? "A job needs you" : `${troubles.length} jobs need you`}
      </Title>
      <List listStyleType="none" spacing="sm" styles={{ itemWrapper: { width: "100%" }, itemLabel: { width: "100%" } }}>
        {troubles.slice(0, MOST).map(({ job, cause }) => (
          <List.Item key={job.id}>
            <Stack gap={2}>
              <Group gap="xs">
                <StateChip state={job.display_status} />
                <JobLink job={job} />
                <Text size="sm" c="dimmed">
                  <When at={job.completion_time ?? job.start_time} />
                </Text>
              </Group>
              <Text size="sm" lineClamp={3} className="breaks">
                {cause}
              </Text>
            </Stack>
          </List.Item>
        ))}
      </List>
      {troubles.length > MOST && (
        <Text size="sm" mt="xs">
          and {troubles.length - MOST} more
        </Text>
      )}
    </Alert>
  );
}
