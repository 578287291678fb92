/** What can be asked of a job, a record for each verb. Whether a job allows it now, the server alone says. */

type Verb = {
  /** It needs nothing but the job. */
  plain: boolean;
  /** The action bar asks before it is done. */
  dialog: boolean;
  /** Words before the job's name in the palette; null: the palette does not offer it. */
  palette: string | null;
  /** Words before the job's name in what has happened. */
  told: string;
  /** Why it is not to be pressed where the server would change nothing. */
  nothing: string;
};

const NOTHING_TO_SAVE = "There is nothing to save.";

export const VERBS = {
  suspend: {
    plain: true,
    dialog: false,
    palette: "Suspend",
    told: "Suspend",
    nothing: "The job is suspended already.",
  },
  resume: {
    plain: true,
    dialog: false,
    palette: "Resume",
    told: "Resume",
    nothing: "There is nothing to resume: the job is not suspended.",
  },
  restart: {
    plain: true,
    dialog: true,
    palette: "Restart",
    told: "Restart",
    nothing: "The job is being started already.",
  },
  export: {
    plain: false,
    dialog: true,
    palette: "Export snapshot of",
    told: "Export a snapshot of",
    nothing: NOTHING_TO_SAVE,
  },
  cancel_and_export: {
    plain: false,
    dialog: false,
    palette: null,
    told: "Export a snapshot of",
    nothing: NOTHING_TO_SAVE,
  },
  update: {
    plain: false,
    dialog: false,
    palette: "Update",
    told: "Update",
    nothing: "There is nothing to update.",
  },
  configure: {
    plain: false,
    dialog: false,
    palette: null,
    told: "Change options of",
    nothing: "There is nothing to change.",
  },
  rollback: {
    plain: true,
    dialog: true,
    palette: "Roll back",
    told: "Roll back",
    nothing: "There is no update to go back from.",
  },
  discard: {
    plain: true,
    dialog: true,
    palette: "Discard state of",
    told: "Discard the state of",
    nothing: "The job keeps no state that could be discarded.",
  },
  cancel: {
    plain: true,
    dialog: true,
    palette: "Cancel job",
    told: "Cancel",
    nothing: "The job has ended already.",
  },
} as const satisfies Record<string, Verb>;

type Verbs = typeof VERBS;
export type VerbName = keyof Verbs;
export const VERB_NAMES = Object.keys(VERBS) as VerbName[];

/** Verbs with a fact of their records, such as the plain ones. */
type With<Fact> = { [Name in VerbName]: Verbs[Name] extends Fact ? Name : never }[VerbName];
export type PlainVerb = With<{ plain: true }>;
export type DialogVerb = With<{ dialog: true }>;
export type PaletteVerb = With<{ palette: string }>;

export const PLAIN_VERBS = VERB_NAMES.filter((name): name is PlainVerb => VERBS[name].plain);
export const PALETTE_VERBS = VERB_NAMES.filter((name): name is PaletteVerb => VERBS[name].palette !== null);

export function isDialog(name: string | undefined): name is DialogVerb {
  return VERB_NAMES.some((each) => each === name && VERBS[each].dialog);
}

/** Verbs that are done at once, without a question. */
export type DirectVerb = With<{ plain: true; dialog: false }>;

export function isDirect(name: VerbName): name is DirectVerb {
  return VERBS[name].plain && !VERBS[name].dialog;
}

/** What the server says of a verb: why it refuses it now, or that it would change nothing. */
export type VerbNow = { verb: string; refused: string | null; nothing_to_do: boolean };
/** Why each verb cannot be asked for; null if it can. */
export type Refusals = Record<VerbName, string | null>;

export function refusalsOf(answer: VerbNow[]): Refusals {
  const now = new Map(answer.map((each) => [each.verb, each]));
  return everyVerb((name) => now.get(name)?.refused ?? (now.get(name)?.nothing_to_do ? VERBS[name].nothing : null));
}

/** The same for each verb, or what a function says of it. */
export function everyVerb(reason: (name: VerbName) => string | null): Refusals {
  return Object.fromEntries(VERB_NAMES.map((name) => [name, reason(name)])) as Refusals;
}
