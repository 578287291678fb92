import { Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api } from "../../api/client";
import { onFeed } from "../../api/live";
import { keys, useJobs } from "../../api/queries";
import { changes } from "../../logic/changes";
import { PlaceLink } from "../../parts/links";
import { Loaded } from "../../parts/Trouble";
import { When } from "../../parts/When";

const MOST = 8;

/** Who changed what, and what jobs did by themselves, the newest first. Read anew whenever a job, snapshot, map or member changes. */
export function RecentChanges() {
  const client = useQueryClient();
  const jobs = useJobs().data ?? [];
  const recent = useQuery({
    queryKey: [...keys.audit, "recent"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/audit", { params: { query: { limit: MOST } }, signal })),
  });
  useEffect(() => {
    let timer = 0;
    const end = onFeed((event) => {
      if (event.kind === "progress" || event.kind === "map" || timer) return;
      timer = window.setTimeout(() => {
        timer = 0;
        void client.invalidateQueries({ queryKey: keys.audit });
      }, 500);
    });
    return () => {
      end();
      window.clearTimeout(timer);
    };
  }, [client]);
  return (
    <Paper withBorder p="md" h="100%" mih={260}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h5">
          Recent changes
        </Title>
        <PlaceLink to="/cluster" search={{ tab: "audit" }} size="sm">
          All
        </PlaceLink>
      </Group>
      <Loaded query={recent} height={180}>
        {(entries) => (
          <Stack gap={6}>
            {changes(entries, jobs, 1).length === 0 && <Text size="sm">Nobody has changed anything yet.</Text>}
            {changes(entries, jobs, MOST).map((change) => (
              <Group key={change.key} justify="space-between" wrap="nowrap" gap="xs">
                <Text size="sm" truncate title={change.raw}>
                  {change.who === null ? change.what : `${change.who} · ${change.what}`}
                </Text>
                <Text
                  size="sm"
                  c={change.bad === null ? "dimmed" : "var(--mantine-color-error)"}
                  style={{ flexShrink: 0 }}
                >
                  {change.bad === null ? "" : `${change.bad} · `}
                  <When at={change.at} />
                </Text>
              </Group>
            ))}
          </Stack>
        )}
      </Loaded>
    </Paper>
  );
}
