import { Text } from "@mantine/core";
import { modals } from "@mantine/modals";
import { notifications } from "@mantine/notifications";
import type { ReactNode } from "react";
import { ProblemError } from "../api/client";
import { SIGNAL } from "./theme";

/** Asks once; the buttons say what they do. */
export function confirm(asked: {
  title: string;
  children: ReactNode;
  does: string;
  keeps: string;
  onConfirm: () => void;
}) {
  modals.openConfirmModal({
    title: asked.title,
    children: <Text component="div">{asked.children}</Text>,
    labels: { confirm: asked.does, cancel: asked.keeps },
    confirmProps: { color: SIGNAL.bad },
    onConfirm: asked.onConfirm,
  });
}

/** Tells that something could not be done, until the reader has closed it. */
export function tellProblem(error: unknown) {
  // Who is not known any more gets the form to sign in, which says all.
  if (error instanceof ProblemError && error.status === 401) return;
  notifications.show({
    color: SIGNAL.bad,
    title: "That could not be done",
    message: error instanceof Error ? error.message : String(error),
    autoClose: false,
    closeButtonProps: { "aria-label": "Close" },
  });
}
