/** The tabs of the screen, as they stand in its address and as people read them. */
export const TABS = {
  overview: "Overview",
  snapshots: "Snapshots",
  versions: "Versions",
  configuration: "Configuration",
  log: "Log",
  events: "Events",
} as const;

export type Tab = keyof typeof TABS;

export function tabFrom(text: string | undefined): Tab {
  return text && text in TABS ? (text as Tab) : "overview";
}
