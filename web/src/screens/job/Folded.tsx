import { Code, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./job.module.css";

/** What is long and seldom wanted: shown on request. */
export function Folded({ label, children }: { label: string; children: ReactNode }) {
  return (
    <details className={classes.folded}>
      <summary>
        <Text span size="sm">
          {label}
        </Text>
      </summary>
      {children}
    </details>
  );
}

/** A stack trace, folded. */
export function Trace({ text, label = "Details" }: { text: string; label?: string }) {
  return (
    <Folded label={label}>
      <Code block className={classes.trace} tabIndex={0} role="region" aria-label={label}>
        {text}
      </Code>
    </Folded>
  );
}
