import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";

type Props = ButtonProps & { onClick: () => void; refused?: string | null; children: ReactNode };

/** A button that stays where it is when it may not be used, and says why, to the pointer and to the keyboard. */
export function ActionButton({ refused, onClick, children, ...rest }: Props) {
  // The same elements in both cases: who is on the button with the keyboard stays there when it is refused.
  return (
    <Tooltip
      label={refused ?? ""}
      disabled={!refused}
      multiline
      maw={360}
      events={{ hover: true, focus: true, touch: true }}
    >
      <Button
        {...rest}
        onClick={refused ? (event) => event.preventDefault() : onClick}
        aria-disabled={refused ? true : undefined}
        data-disabled={refused ? true : undefined}
      >
        {children}
      </Button>
    </Tooltip>
  );
}
