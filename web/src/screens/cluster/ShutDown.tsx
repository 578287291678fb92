import { Button, Group, List, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { answered, api } from "../../api/client";
import { useConnection } from "../../api/live";
import { useCluster, useJobs } from "../../api/queries";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { JobLink } from "../../parts/JobLink";
import { ProblemAlert } from "../../parts/Trouble";
import { SIGNAL } from "../../parts/theme";
import { useAction } from "../../parts/useAction";
import { useViewerRefusal } from "../../parts/viewer";
import { shutDownCommand } from "./commands";
import { type Ending, endingOf } from "./ending";

const WORD = "shut down";

/** Ends the cluster in good order: says what will be saved, asks for a word, and shows how far it is. */
export function ShutDown() {
  const viewer = useViewerRefusal();
  const [open, { open: show, close }] = useDisclosure(false);
  return (
    <Group gap={4}>
      <ActionButton color={SIGNAL.bad} onClick={show} refused={viewer}>
        Shut down…
      </ActionButton>
      <CopyAs label="Shut down" command={shutDownCommand()} />
      <Modal opened={open} onClose={close} title="Shut down the cluster" size="lg">
        <Dialog onClose={close} />
      </Modal>
    </Group>
  );
}

function Dialog({ onClose }: { onClose: () => void }) {
  const jobs = useJobs().data ?? [];
  const connection = useConnection();
  const cluster = useCluster().data;
  const [word, setWord] = useState("");
  const [ending, setEnding] = useState<Ending>({ phase: "asked", left: null });
  const end = useAction({ mutationFn: () => answered(api.POST("/api/v1/cluster/shutdown")) });
  useEffect(
    () => setEnding((before) => endingOf(before, { begun: end.isSuccess, cluster, connection })),
    [end.isSuccess, cluster, connection],
  );
  const running = jobs.filter((job) => ["RUNNING", "STARTING", "COMPLETING"].includes(job.status));
  if (ending.phase !== "asked") return <Progress ending={ending} />;
  return (
    <Stack>
      <Text>
        {running.length
          ? "These jobs end at their next epoch boundary with their state saved, and go on by themselves when the server is started again:"
          : "No job runs at this moment."}
      </Text>
      {running.length > 0 && (
        <List size="sm" mah={240} style={{ overflow: "auto" }}>
          {running.map((job) => (
            <List.Item key={job.id}>
              <JobLink job={job} />
            </List.Item>
          ))}
        </List>
      )}
      <Text>Then members and control plane end. Jobs, snapshots and maps stay.</Text>
      <TextInput
        label={`Type "${WORD}" to go on`}
        value={word}
        onChange={(event) => setWord(event.currentTarget.value)}
        data-autofocus
      />
      {end.error && <ProblemAlert error={end.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Keep it running
        </Button>
        <ActionButton
          color={SIGNAL.bad}
          onClick={() => end.mutate()}
          loading={end.isPending}
          refused={word.trim() === WORD ? null : `Type "${WORD}" first.`}
        >
          Shut down the cluster
        </ActionButton>
      </Group>
    </Stack>
  );
}

function Progress({ ending }: { ending: Ending }) {
  return (
    <Stack role="status">
      {ending.phase === "ending" && (
        <>
          <Text>Jobs are ending at an epoch boundary…</Text>
          {ending.left && (
            <List size="sm">
              {ending.left.map((name) => (
                <List.Item key={name}>{name}</List.Item>
              ))}
            </List>
          )}
        </>
      )}
      {ending.phase === "clean" && (
        <Text fw={600}>Clean ✔ Every job has ended with its state saved, and the server has ended.</Text>
      )}
      {ending.phase === "lost" && (
        <Text>
          {ending.left
            ? `The server has ended. Before that these jobs had not ended yet; they go on from their last epoch: ${ending.left.join(", ")}`
            : "The connection to the server broke before it said how far its jobs are; each goes on from its last epoch."}
        </Text>
      )}
      {ending.phase !== "ending" && <Text>Start it again with pitstop serve: all goes on where it stopped.</Text>}
    </Stack>
  );
}
