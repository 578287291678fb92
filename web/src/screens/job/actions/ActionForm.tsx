import { Alert, Button, Group, Stack, Text } from "@mantine/core";
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
  /** Why it is not possible any more, should that have changed since the dialog was opened. */
  refused?: string | null;
  command: Command;
  mutation: { mutate: () => void; isPending: boolean; isSuccess: boolean; error: unknown };
};

/** What a dialog about one action holds: what it does, the action and its way out, and the same as a command. */
export function ActionForm(props: Props) {
  const { mutation, onClose } = props;
  // What the action itself has changed is no reason against it.
  const own = mutation.isPending || mutation.isSuccess;
  const refused = own ? null : (props.refused ?? null);
  const blocked = props.blocked || refused !== null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!blocked && !mutation.isPending) mutation.mutate();
      }}
    >
      <Stack>
        {props.children}
        {refused !== null && (
          <Alert role="alert" color="orange" variant="outline" title="This is not possible any more">
            <Text size="sm" className="breaks">
              {refused}
            </Text>
          </Alert>
        )}
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
              disabled={blocked}
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
