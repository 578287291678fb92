import { Group } from "@mantine/core";
import { IconArrowBackUp } from "@tabler/icons-react";
import { answered, api, type Job } from "../../api/client";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { ProblemAlert } from "../../parts/Trouble";
import { SIGNAL } from "../../parts/theme";
import { useAction } from "../../parts/useAction";
import { useViewerRefusal } from "../../parts/viewer";
import { plainCommand } from "../job/commands";

/** Goes back to the version before; it can be updated again, so nobody is asked twice. */
export function RollBackButton({ job, refused }: { job: Job; refused: string | null }) {
  const viewer = useViewerRefusal();
  const back = useAction({
    mutationFn: () => answered(api.POST("/api/v1/jobs/{job}/rollback", { params: { path: { job: job.id } } })),
  });
  const name = job.name ?? job.id;
  return (
    <>
      <Group gap={4}>
        <ActionButton
          color={SIGNAL.attention}
          leftSection={<IconArrowBackUp size={16} aria-hidden="true" />}
          refused={viewer ?? refused}
          disabled={back.isPending}
          onClick={() => back.mutate()}
        >
          {back.isPending ? "Rolling back…" : "Roll back now"}
        </ActionButton>
        <CopyAs label="rolling back" command={plainCommand({ id: name, name }, "rollback")} />
      </Group>
      {back.error && <ProblemAlert error={back.error} />}
    </>
  );
}
