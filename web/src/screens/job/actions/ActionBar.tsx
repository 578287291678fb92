import { Group, Modal, Text, VisuallyHidden } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import {
  IconArrowBackUp,
  IconCamera,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
  IconUpload,
  IconX,
} from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import type { Job } from "../../../api/client";
import { type DialogVerb, isDialog, type PlainVerb } from "../../../logic/verbs";
import { ActionButton } from "../../../parts/ActionButton";
import { CopyAs } from "../../../parts/CopyAs";
import { SIGNAL } from "../../../parts/theme";
import { askPlain, useAsked, usePlainVerb } from "../api/act";
import { useRefusals } from "../api/verbs";
import { plainCommand } from "../commands";
import { ActionForm } from "./ActionForm";
import { ExportForm } from "./ExportForm";

type Open = DialogVerb | null;

const route = getRouteApi("/jobs/$job");

/** All that can be done with a job; what cannot be done now says why. */
export function ActionBar({ job }: { job: Job }) {
  const refusals = useRefusals(job);
  const [open, setOpen] = useState<Open>(null);
  const go = useNavigate();
  // An address may open a dialog, as the palette does; what the dialog asks is for the reader to answer.
  const wanted = route.useSearch().do;
  useEffect(() => {
    if (wanted === undefined) return;
    setOpen(isDialog(wanted) ? wanted : null);
    void go({ to: ".", search: (before) => ({ ...before, do: undefined }), replace: true });
  }, [wanted, go]);
  const close = () => setOpen(null);
  const name = <bdi className="breaks">{job.name ?? job.id}</bdi>;
  const over = job.status === "FAILED" || job.status === "COMPLETED";
  const suspend = usePlainVerb(job.id, "suspend");
  const resume = usePlainVerb(job.id, "resume");
  const exporting = refusals.export !== null && refusals.cancel_and_export !== null ? refusals.export : null;
  return (
    <section aria-label="Actions">
      <Group gap="xs">
        <Direct
          job={job}
          verb="suspend"
          label="Suspend"
          doing="Suspending…"
          icon={<IconPlayerPause size={16} aria-hidden="true" />}
          refused={refusals.suspend}
          mutation={suspend}
        />
        <Direct
          job={job}
          verb="resume"
          label="Resume"
          doing="Resuming…"
          icon={<IconPlayerPlay size={16} aria-hidden="true" />}
          refused={refusals.resume}
          mutation={resume}
        />
        <Act
          label="Restart"
          icon={<IconRefresh size={16} />}
          refused={refusals.restart}
          onClick={() => setOpen("restart")}
        />
        <Act
          label="Export snapshot"
          icon={<IconCamera size={16} />}
          refused={exporting}
          onClick={() => setOpen("export")}
        />
        <Act
          label="Update"
          icon={<IconUpload size={16} />}
          refused={refusals.update}
          onClick={() => void go({ to: "/jobs/$job/update", params: { job: job.id } })}
        />
        <Act
          label="Roll back"
          icon={<IconArrowBackUp size={16} />}
          refused={refusals.rollback}
          onClick={() => setOpen("rollback")}
        />
        {over && (
          <Act
            label="Discard state"
            icon={<IconTrash size={16} />}
            refused={refusals.discard}
            onClick={() => setOpen("discard")}
          />
        )}
        <ActionButton
          size="xs"
          ml="auto"
          color={SIGNAL.bad}
          variant="filled"
          leftSection={<IconX size={16} aria-hidden="true" />}
          refused={refusals.cancel}
          onClick={() => setOpen("cancel")}
        >
          Cancel job
        </ActionButton>
      </Group>
      <Modal title="Export snapshot" opened={open === "export"} onClose={close} size="lg" centered>
        <ExportForm
          job={job}
          refusals={{ keep: refusals.export, cancel: refusals.cancel_and_export }}
          onClose={close}
          onDone={(snapshot) => {
            close();
            notifications.show({
              message: `Snapshot ${snapshot} is complete.`,
              closeButtonProps: { "aria-label": "Close" },
            });
          }}
        />
      </Modal>
      <Asked
        job={job}
        verb="restart"
        refused={refusals.restart}
        open={open}
        onClose={close}
        title="Restart"
        does="Restart job"
        keeps="Keep running"
        doing="Restarting…"
      >
        <Text>{name} is stopped after its present epoch and started again from there: no event is missed.</Text>
      </Asked>
      <Asked
        job={job}
        verb="rollback"
        refused={refusals.rollback}
        open={open}
        onClose={close}
        title="Roll back"
        does="Roll back"
        keeps="Keep the new version"
        doing="Rolling back…"
      >
        <Text>
          {name} goes back to the version before the update, and to its state: what the new version has written since
          then is withdrawn where sinks can do that.
        </Text>
      </Asked>
      <Asked
        job={job}
        verb="discard"
        refused={refusals.discard}
        open={open}
        onClose={close}
        danger
        title="Discard state"
        does="Discard state"
        keeps="Keep state"
        doing="Discarding…"
      >
        <Text>
          The state that {name} keeps is removed from the disk. The job cannot be brought back after that. Its snapshots
          stay.
        </Text>
      </Asked>
      <Asked
        job={job}
        verb="cancel"
        refused={refusals.cancel}
        open={open}
        onClose={close}
        danger
        title="Cancel job"
        does="Cancel job"
        keeps={job.status.startsWith("SUSPENDED") ? "Keep job" : "Keep running"}
        doing="Cancelling…"
      >
        <Text>
          {name} ends at once, without a snapshot. Its state is kept for a day: until then Resume brings it back where
          its last epoch ended.
        </Text>
      </Asked>
      <VisuallyHidden role="status">
        {suspend.isPending ? "Suspending…" : resume.isPending ? "Resuming…" : ""}
      </VisuallyHidden>
    </section>
  );
}

function Act(props: { label: string; icon: ReactNode; refused: string | null; onClick: () => void }) {
  return (
    <ActionButton size="xs" variant="default" leftSection={props.icon} refused={props.refused} onClick={props.onClick}>
      {props.label}
    </ActionButton>
  );
}

/** What can be taken back is done without a question. */
function Direct(props: {
  job: Job;
  verb: PlainVerb;
  label: string;
  doing: string;
  icon: ReactNode;
  refused: string | null;
  mutation: { mutate: () => void; isPending: boolean };
}) {
  const { job, verb, mutation } = props;
  return (
    <Group gap={2} wrap="nowrap">
      <ActionButton
        size="xs"
        variant="default"
        leftSection={props.icon}
        refused={mutation.isPending ? `${props.doing} The server answers when it is done.` : props.refused}
        onClick={() => mutation.mutate()}
      >
        {mutation.isPending ? props.doing : props.label}
      </ActionButton>
      <CopyAs command={plainCommand(job, verb)} label={props.label} />
    </Group>
  );
}

type AskedProps = {
  job: Job;
  verb: PlainVerb;
  refused: string | null;
  title: string;
  does: string;
  doing: string;
  keeps: string;
  danger?: boolean;
  onClose: () => void;
  children: ReactNode;
};

function Asked({ open, ...props }: AskedProps & { open: Open }) {
  return (
    <Modal title={props.title} opened={open === props.verb} onClose={props.onClose} centered>
      <PlainForm {...props} />
    </Modal>
  );
}

function PlainForm({ job, verb, children, ...words }: AskedProps) {
  const mutation = useAsked(() => askPlain(job.id, verb), words.onClose);
  return (
    <ActionForm {...words} command={plainCommand(job, verb)} mutation={mutation}>
      {children}
    </ActionForm>
  );
}
