import { ActionIcon, Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconCopy } from "@tabler/icons-react";
import { type Command, curlLine, shellLine } from "../logic/commands";

/** Gives an action as a line for a terminal: as our command, or as a request; `curl` where the request is no mere JSON. */
export function CopyAs({ command, label, curl }: { command: Command; label: string; curl?: string }) {
  const copy = (text: string) => async () => {
    await navigator.clipboard.writeText(text);
    notifications.show({ message: "Copied", autoClose: 1500, closeButtonProps: { "aria-label": "Close" } });
  };
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Copy ${label} as a command`}>
          <IconCopy size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={copy(shellLine(command.cli))}>Copy as CLI</Menu.Item>
        <Menu.Item onClick={copy(curl ?? curlLine(command, window.location.origin))}>Copy as curl</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
