import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

const route = getRouteApi("/jobs/$job");

/** A setting of this screen, kept in its address where that has room for it. */
export function useSetting(name: string, usual = ""): [string, (value: string) => void] {
  const search = route.useSearch() as Record<string, string | undefined>;
  const go = useNavigate({ from: "/jobs/$job" });
  const [value, setValue] = useState(search[name] ?? usual);
  const change = (next: string) => {
    setValue(next);
    const text = next === usual ? undefined : next;
    void go({ search: ((before: object) => ({ ...before, [name]: text })) as never, replace: true });
  };
  return [value, change];
}
