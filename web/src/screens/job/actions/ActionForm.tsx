import { Button, Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import type { Command } from "../../../logic/commands";
import { CopyAs } from "../../../parts/CopyAs";
import { ProblemAlert } from "../../../parts/Trouble";
import { SIGNAL } from "../../../parts/theme";

type Props = {
  /** What the action is called. */
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** The button that does it, and that it is being done. */
  does: string;
  doing: string;
  keeps: string;
  danger?: boolean;
  blocked?: boolean;
  command: Command;
  mutation: { mutate: () => void; isPending: boolean; error: unknown };
};

/** What a dialog about one action holds: what it does, the action and its way out, and the same as a command. */
export function ActionForm(props: Props) {
  const { mutation, onClose } = props;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!props.blocked && !mutation.isPending) mutation.mutate();
      }}
    >
      <Stack>
        {props.children}
        {mutation.error !== null && <ProblemAlert error={mutation.error} />}
        <Group justify="space-between">
          <CopyAs command={props.command} label={props.title} />
          <Group gap="sm">
            <Button variant="default" onClick={onClose} data-autofocus={props.danger || undefined}>
              {mutation.isPending ? "Close" : props.keeps}
            </Button>
            <Button
              type="submit"
              color={props.danger ? SIGNAL.bad : undefined}
              disabled={props.blocked}
              aria-disabled={mutation.isPending || undefined}
            >
              {mutation.isPending ? props.doing : props.does}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}
