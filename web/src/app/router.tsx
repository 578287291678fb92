import { Center, Loader } from "@mantine/core";
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { whenLive } from "../api/live";
import { Empty, ProblemAlert } from "../parts/Trouble";
import { patiently } from "./patiently";
import { Shell } from "./Shell";

type Search = Record<string, string | undefined>;

/** What stands behind the question mark of an address: texts alone, and only those that the screen knows. */
function texts<K extends string>(...known: K[]): (search: Record<string, unknown>) => Partial<Record<K, string>> {
  return (search) => {
    const found: Partial<Record<K, string>> = {};
    for (const key of known) if (search[key] !== undefined && search[key] !== "") found[key] = String(search[key]);
    return found;
  };
}

const screens: { preload?: () => Promise<void> | undefined }[] = [];

/** A screen that is loaded when it is first shown, or before by `loadScreens`. */
function screen<T extends Record<string, unknown>>(load: () => Promise<T>, name: keyof T) {
  const found = lazyRouteComponent(() => patiently(load, whenLive), name);
  screens.push(found);
  return found;
}

const root = createRootRoute({ component: Shell, notFoundComponent: () => <Empty title="There is no such page" /> });

const overview = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: screen(() => import("../screens/overview/Overview"), "Overview"),
});
const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: texts("name", "status", "sort"),
  component: screen(() => import("../screens/jobs/Jobs"), "Jobs"),
});
const submit = createRoute({
  getParentRoute: () => root,
  path: "/submit",
  validateSearch: texts("snapshot"),
  component: screen(() => import("../screens/submit/Submit"), "Submit"),
});
const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$job",
  validateSearch: texts("tab", "stage", "step", "find", "origin", "level", "wrap", "version", "sort", "do"),
  component: screen(() => import("../screens/job/JobScreen"), "JobScreen"),
});
const update = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$job/update",
  component: screen(() => import("../screens/update/Update"), "Update"),
});
const snapshots = createRoute({
  getParentRoute: () => root,
  path: "/snapshots",
  validateSearch: texts("name", "sort"),
  component: screen(() => import("../screens/snapshots/Snapshots"), "Snapshots"),
});
const snapshot = createRoute({
  getParentRoute: () => root,
  path: "/snapshots/$snapshot",
  validateSearch: texts("tab", "other", "stage"),
  component: screen(() => import("../screens/snapshots/SnapshotScreen"), "SnapshotScreen"),
});
const maps = createRoute({
  getParentRoute: () => root,
  path: "/maps",
  validateSearch: texts("name", "sort"),
  component: screen(() => import("../screens/maps/Maps"), "Maps"),
});
const map = createRoute({
  getParentRoute: () => root,
  path: "/maps/$map",
  validateSearch: texts("tab", "prefix", "where", "key", "longitude", "latitude", "colour", "follow"),
  component: screen(() => import("../screens/maps/MapScreen"), "MapScreen"),
});
const sql = createRoute({
  getParentRoute: () => root,
  path: "/sql",
  validateSearch: texts("q"),
  component: screen(() => import("../screens/sql/SqlScreen"), "SqlScreen"),
});
const cluster = createRoute({
  getParentRoute: () => root,
  path: "/cluster",
  validateSearch: texts("tab"),
  component: screen(() => import("../screens/cluster/ClusterScreen"), "ClusterScreen"),
});

export const router = createRouter({
  routeTree: root.addChildren([overview, jobs, submit, job, update, snapshots, snapshot, maps, map, sql, cluster]),
  // Every value of ours is a text: it stands in the address as it is, not as JSON.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const kept = Object.entries(search as Search).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return kept.length ? `?${new URLSearchParams(kept)}` : "";
  },
  scrollRestoration: true,
  defaultPendingComponent: () => (
    <Center mih={300}>
      <Loader role="status" aria-label="Loading" />
    </Center>
  ),
  defaultErrorComponent: ({ error, reset }) => <ProblemAlert error={error} retry={reset} />,
});

// Once the first screen stands, all others are loaded: then each is there at once, and while the server is away, too.
const stop = router.subscribe("onResolved", () => {
  stop();
  window.requestIdleCallback(async () => {
    for (const each of screens) await each.preload?.()?.catch(() => undefined);
  });
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
