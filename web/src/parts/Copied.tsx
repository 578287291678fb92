import { Button, CopyButton } from "@mantine/core";

/** A button that copies a text. */
export function Copied({ label, text }: { label: string; text: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" onClick={copy}>
          {copied ? "Copied" : label}
        </Button>
      )}
    </CopyButton>
  );
}
