import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";

const route = getRouteApi("/maps/$map");

/** What keys have to begin with, in the address: all tabs of a map go by it. */
export function PrefixInput() {
  const { prefix = "" } = route.useSearch();
  const go = useNavigate({ from: "/maps/$map" });
  const [text, setText] = useState(prefix);
  useEffect(() => setText(prefix), [prefix]);
  const tell = useDebouncedCallback((next: string) => {
    void go({ search: (before) => ({ ...before, prefix: next || undefined }), replace: true });
  }, 300);
  return (
    <TextInput
      label="Key begins with"
      leftSection={<IconSearch size={16} aria-hidden="true" />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        tell(event.currentTarget.value);
      }}
    />
  );
}
