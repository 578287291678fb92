/** What the palette offers for what was typed: places, things by their names, and what can be done with a job. */
import type { Job, MapFacts, Snapshot } from "../api/client";
import { jobNamed } from "../logic/jobNamed";
import { hasWords, wordsOf } from "../logic/search";
import { PALETTE_VERBS, type PaletteVerb, type Refusals, VERBS } from "../logic/verbs";

export type PlacePath = "/" | "/jobs" | "/submit" | "/snapshots" | "/maps" | "/sql" | "/cluster";
export type Target =
  | { to: "place"; path: PlacePath }
  | { to: "job"; job: string; verb?: PaletteVerb }
  | { to: "snapshot"; snapshot: string }
  | { to: "map"; map: string };
export type Entry = { id: string; label: string; description: string; refused: string | null; target: Target };
export type Group = { group: string; entries: Entry[] };
export type Lists = {
  jobs: Job[];
  snapshots: Snapshot[];
  maps: MapFacts[];
  viewer: string | null;
  /** What the server says of jobs, by id. Until it has answered a job's verbs are offered, and the server may refuse one. */
  refusals: Map<string, Refusals>;
};

/** So many of a kind are offered. */
const MOST = 7;
/** So many verbs: all of one job, or one verb of some jobs. */
const MOST_VERBS = 9;

const PLACES: { path: PlacePath; label: string; description: string }[] = [
  { path: "/", label: "Overview", description: "What needs you now" },
  { path: "/jobs", label: "Jobs", description: "All jobs" },
  { path: "/submit", label: "Submit a job", description: "From a file, or from a snapshot" },
  { path: "/snapshots", label: "Snapshots", description: "Saved states" },
  { path: "/maps", label: "Maps", description: "Entries, journals, moving pictures" },
  { path: "/sql", label: "SQL", description: "Statements, and what they give" },
  { path: "/cluster", label: "Cluster", description: "Members, settings, shut down" },
];

/** What fits, in groups; verbs only for jobs that a word of the query names. */
export function entriesFor(query: string, lists: Lists): Group[] {
  const words = wordsOf(query);
  const fits = (...texts: string[]) => hasWords(texts.join(" "), words);
  const first = <T>(items: T[], most: number, wanted: (item: T) => boolean): T[] => {
    const found: T[] = [];
    for (const item of items) {
      if (found.length === most) break;
      if (wanted(item)) found.push(item);
    }
    return found;
  };
  const things: Group = {
    group: "Jobs",
    entries: first(named(lists.jobs, words), MOST, (job) => fits(nameOf(job), job.display_status)).map((job) =>
      entry(`job ${job.id}`, nameOf(job), job.display_status, { to: "job", job: job.id }),
    ),
  };
  const doing = verbs(words, lists);
  const todo: Group = { group: "Do", entries: doing.entries };
  // Who writes what is to be done means that, not a job whose state is called so.
  const groups: Group[] = [
    {
      group: "Go to",
      entries: first(PLACES, MOST, (place) => fits(place.label, place.description)).map(
        ({ path, label, description }) => entry(`place ${path}`, label, description, { to: "place", path }),
      ),
    },
    ...(doing.asked ? [todo, things] : [things, todo]),
    {
      group: "Snapshots",
      entries: first(lists.snapshots, MOST, (found) => fits(found.name, found.job_name ?? found.job_id)).map((found) =>
        entry(`snapshot ${found.name}`, found.name, `of ${found.job_name ?? found.job_id}`, {
          to: "snapshot",
          snapshot: found.name,
        }),
      ),
    },
    {
      group: "Maps",
      entries: first(lists.maps, MOST, (map) => fits(map.name)).map((map) =>
        entry(`map ${map.name}`, map.name, `${map.size.toLocaleString("en-US")} entries`, { to: "map", map: map.name }),
      ),
    },
  ];
  return groups.filter((group) => group.entries.length > 0);
}

/** Words that are in the name of a job mean that job, all others what is to be done with it. */
function verbs(words: string[], lists: Lists): { entries: Entry[]; asked: boolean } {
  const found: Entry[] = [];
  let asked = false;
  for (const job of named(lists.jobs, words)) {
    const others = otherWords(job, words);
    if (others.length === words.length) continue;
    const wanted = PALETTE_VERBS.filter((verb) => hasWords(VERBS[verb].palette, others));
    // A name may have passed on to another job: what is typed means the one that still lives.
    asked ||= others.length > 0 && wanted.length > 0;
    if (!wanted.length || (job.name !== null && jobNamed(lists.jobs, job.name) !== job)) continue;
    const refusals = lists.refusals.get(job.id);
    for (const verb of wanted) {
      if (found.length === MOST_VERBS) return { entries: found, asked };
      const now = verb === "export" && refusals?.cancel_and_export === null ? null : (refusals?.[verb] ?? null);
      const refused = lists.viewer ?? now;
      const label = VERBS[verb].palette;
      const description = refused === null ? `${nameOf(job)} is ${job.display_status}` : `Not now: ${refused}`;
      const target: Target = { to: "job", job: job.id, verb };
      found.push({ id: `${verb} ${job.id}`, label: `${label} ${nameOf(job)}`, description, refused, target });
    }
  }
  return { entries: found, asked };
}

/** The jobs whose verbs a query may be about, a few of them. */
export function jobsMeant(query: string, jobs: Job[]): Job[] {
  const words = wordsOf(query);
  return named(jobs, words)
    .filter((job) => otherWords(job, words).length < words.length)
    .slice(0, MOST_VERBS);
}

/** Words that are not in the name of the job. */
function otherWords(job: Job, words: string[]): string[] {
  const name = nameOf(job).toLowerCase();
  return words.filter((word) => !name.includes(word));
}

/** Jobs, those first that are called as one of these words. */
function named(jobs: Job[], words: string[]): Job[] {
  const exact = jobs.filter((job) => words.includes(nameOf(job).toLowerCase()));
  return exact.length ? [...exact, ...jobs.filter((job) => !exact.includes(job))] : jobs;
}

function entry(id: string, label: string, description: string, target: Target): Entry {
  return { id, label, description, refused: null, target };
}

function nameOf(job: Job): string {
  return job.name ?? job.id;
}
