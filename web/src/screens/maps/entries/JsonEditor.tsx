import { Text, Textarea } from "@mantine/core";
import { useMemo } from "react";
import { jsonFault } from "../values/jsonText";

/** A field for JSON that says while one writes what is wrong with it. */
export function JsonEditor(props: { label: string; text: string; onChange: (text: string) => void; rows?: number }) {
  const fault = useMemo(() => jsonFault(props.text), [props.text]);
  return (
    <div>
      <Textarea
        label={props.label}
        value={props.text}
        onChange={(event) => props.onChange(event.currentTarget.value)}
        rows={props.rows ?? 14}
        spellCheck={false}
        autoComplete="off"
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 13, resize: "vertical" } }}
        error={fault !== null}
        aria-describedby="json-verdict"
      />
      <Text id="json-verdict" size="sm" mt={4} c={fault ? "red" : "dimmed"} role="status" mih={22} className="breaks">
        {fault ?? "This is JSON."}
      </Text>
    </div>
  );
}
