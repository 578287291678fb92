import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

const route = getRouteApi("/jobs/$job");

/** A setting of this screen, kept in its address where that has room for it. */
export function useSetting(name: string, usual = ""): [string, (value: string) => void] {
  const search: Record<string, string | undefined> = route.useSearch();
  const go = useNavigate({ from: "/jobs/$job" });
  const [value, setValue] = useState(search[name] ?? usual);
  const change = (next: string) => {
    setValue(next);
    const text = next === usual ? undefined : next;
    void go({ search: (before) => ({ ...before, [name]: text }), replace: true });
  };
  return [value, change];
}
