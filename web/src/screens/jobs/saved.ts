/** Filters of the list of jobs that have got a name, in this browser. */
import { useState } from "react";

/** What stands in the address. */
export type JobFilter = { name?: string; status?: string; sort?: string };
export type SavedFilter = { title: string; filter: JobFilter };

const KEY = "pitstop.jobs.filters";
const MOST = 50;
const FIELDS = ["name", "status", "sort"] as const;

/** The list with one more, by title; a title stands in it once. */
export function withFilter(saved: SavedFilter[], title: string, filter: JobFilter): SavedFilter[] {
  const others = saved.filter((each) => each.title !== title);
  return [...others, { title, filter: known(filter) }].sort((a, b) => a.title.localeCompare(b.title)).slice(0, MOST);
}

/** The first of them that is just this filter. */
export function savedAs(saved: SavedFilter[], filter: JobFilter): SavedFilter | undefined {
  return saved.find((each) => FIELDS.every((field) => (each.filter[field] ?? "") === (filter[field] ?? "")));
}

/** True if it leaves jobs out, or puts them in an order of its own. */
export function filters(filter: JobFilter): boolean {
  return FIELDS.some((field) => filter[field]);
}

/** What was written down, as far as it has the form that this page writes. */
export function readFilters(text: string | null): SavedFilter[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(found)) return [];
    return found
      .filter((each) => typeof each?.title === "string" && typeof each?.filter === "object" && each.filter !== null)
      .map((each) => ({ title: each.title, filter: known(each.filter) }))
      .slice(0, MOST);
  } catch {
    return [];
  }
}

/** The saved filters, what saves one, and what forgets one. A browser that keeps nothing has them until the page is left. */
export function useSavedFilters() {
  const [saved, setSaved] = useState(() => readFilters(kept()));
  const change = (next: SavedFilter[]) => {
    setSaved(next);
    try {
      window.localStorage.setItem(KEY, JSON.stringify(next));
    } catch {
      // No room, or not allowed.
    }
  };
  // Another window may have changed them meanwhile.
  const newest = () => readFilters(kept() ?? JSON.stringify(saved));
  return {
    saved,
    save: (title: string, filter: JobFilter) => change(withFilter(newest(), title, filter)),
    forget: (title: string) => change(newest().filter((each) => each.title !== title)),
  };
}

function known(filter: Record<string, unknown>): JobFilter {
  const found: JobFilter = {};
  for (const field of FIELDS) {
    const value = filter[field];
    if (typeof value === "string" && value) found[field] = value;
  }
  return found;
}

function kept(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
