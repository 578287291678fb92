/** The tabs of the screen, as they stand in its address and as people read them. */
export const TABS = {
  overview: "Overview",
  snapshots: "Snapshots",
  versions: "Versions",
  configuration: "Configuration",
  log: "Log",
  tasks: "Tasks",
  events: "Events",
} as const;
