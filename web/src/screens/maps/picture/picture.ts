/** A map's objects as they are now, or as they were: read from its entries, kept up to date by its journal. */
import type { JournalEvent } from "../../../api/client";
import { plainPage } from "../journal/pages";
import { JournalReader } from "../journal/reader";
import type { Page } from "../journal/tail";
import type { Place } from "./fields";
import { entryPages, eventsBetween, journalBounds, MOST_EVENTS, MOST_OBJECTS } from "./loading";
import { type Kept, Replay } from "./replay";
import { type Shown, Teller } from "./shown";
import { Stage } from "./stage";

/** How often the scale of the colours is made anew, at the most: rarer with more objects. */
const SCALE_MS = 1000;
const LIMIT = 10_000;
const LONGEST_STEP_MS = 1000;

export class Picture {
  readonly replay = new Replay(MOST_EVENTS);
  readonly stage: Stage;
  readonly teller: Teller;
  private journal: JournalReader | null = null;
  /** What was begun before the last start or stop has no say any more. */
  private run = 0;
  /** The journal has been read up to here, and what is kept of it begins here. */
  private sequence = 0;
  private firstSequence = 0;
  /** Of the entries that are drawn, if there are too many. */
  private lastKey: string | null = null;
  private scaledAt = 0;
  private ticked = 0;

  constructor(
    private readonly map: string,
    private readonly prefix: string,
    place: Place,
    private readonly hasJournal: boolean,
  ) {
    this.stage = new Stage(place, this.replay.entries);
    const counts = { objects: 0, withoutPlace: 0, faulty: 0, cut: false };
    const time = { live: true, playing: false, speed: 10, moment: 0, from: null, to: null };
    const { scale } = this.stage.appearance;
    const first: Shown = { phase: "loading", error: null, history: "none", scale, ...counts, ...time };
    this.teller = new Teller(first, () => this.counted());
  }

  /** Read everything, and follow it from then on. */
  async start() {
    this.stop();
    const { run } = this;
    try {
      await this.load(run);
    } catch (error) {
      if (run === this.run) this.teller.tell({ error, phase: "ready" });
    }
  }

  stop() {
    this.run += 1;
    this.journal?.stop();
    this.teller.stop();
  }

  /** The map has been written to. */
  wake() {
    this.journal?.wake();
  }

  colourBy(path: string | null) {
    this.stage.appearance.colourBy(path);
    this.rescale();
  }

  faultsBy(path: string | null) {
    this.stage.appearance.faultsBy(path);
    this.stage.restyle();
    this.teller.tell({});
  }

  /** The moment that is shown, in milliseconds of the map's time. */
  get moment(): number {
    const { live, moment } = this.teller.now;
    return live ? (this.replay.newest ?? moment) : moment;
  }

  /** Go on with a replay that plays; `now` in milliseconds of the reader's clock. */
  tick(now: number) {
    const passed = Math.min(LONGEST_STEP_MS, now - this.ticked);
    this.ticked = now;
    const { playing, speed, moment: before } = this.teller.now;
    if (!playing) return;
    const moment = before + passed * speed;
    if (moment >= (this.replay.newest ?? 0)) return this.goLive();
    this.stage.show(this.replay.to(moment), false, now);
    this.teller.tell({ moment });
  }

  seek(moment: number) {
    this.stage.show(this.replay.to(moment), true);
    this.teller.tell({ live: false, moment });
  }

  play(playing: boolean) {
    const { oldest } = this.replay;
    if (playing && this.teller.now.live && oldest !== null) this.seek(oldest);
    this.teller.tell({ playing });
  }

  setSpeed(speed: number) {
    this.teller.tell({ speed });
  }

  goLive() {
    this.stage.show(this.replay.toEnd(), true);
    this.teller.tell({ live: true, playing: false });
  }

  /** Read what the journal still knows, so that it can be replayed. */
  async readHistory() {
    const { history, phase } = this.teller.now;
    if (history !== "none" || phase !== "ready" || !this.hasJournal) return;
    this.teller.tell({ history: "loading" });
    const { run, firstSequence: last } = this;
    try {
      const { oldest } = await journalBounds(this.map);
      const events = await eventsBetween(this.map, Math.max(oldest - 1, last - MOST_EVENTS, 0), last);
      if (run !== this.run) return;
      this.replay.prepend(this.mine(events));
      this.teller.tell({ history: "ready" });
    } catch (error) {
      if (run === this.run) this.teller.tell({ history: "none", error });
    }
  }

  /** Where a key has come from, up to the shown moment, as degrees. */
  wayOf(key: string, most: number): [number, number][] {
    return this.replay.past(key, most).flatMap((value) => {
      const found = this.stage.appearance.degreesOf(value);
      return found ? [found] : [];
    });
  }

  /** Show these entries, and none of those before. */
  begin(entries: [string, Kept][]) {
    const newest = entries.reduce((latest, [, kept]) => Math.max(latest, kept.at), 0);
    const cut = entries.length >= MOST_OBJECTS;
    this.lastKey = cut ? (entries.at(-1)?.[0] ?? null) : null;
    this.replay.seed(entries);
    this.stage.begin();
    this.rescale();
    const time = { live: true, playing: false, moment: newest };
    this.teller.tellAtOnce({ phase: "ready", error: null, history: "none", cut, ...time });
  }

  /** Take over newer events. */
  append(events: JournalEvent[]) {
    this.stage.show(this.replay.append(this.mine(events)), false);
    if (Date.now() - this.scaledAt > SCALE_MS + this.stage.scene.count / 10) this.rescale();
    this.teller.tell(this.teller.now.live ? { moment: this.moment } : {});
  }

  private async load(run: number) {
    const { map, hasJournal } = this;
    const { newest } = hasJournal ? await journalBounds(map) : { newest: 0 };
    const entries: [string, Kept][] = [];
    for await (const page of entryPages(map, this.prefix)) {
      if (run !== this.run) return;
      for (const entry of page) entries.push([entry.key, { value: entry.value, at: Date.parse(entry.updated) }]);
      this.teller.tell({ objects: entries.length });
    }
    if (run !== this.run) return;
    this.firstSequence = this.sequence = newest;
    this.begin(entries);
    if (!hasJournal) return;
    const { take } = this;
    const after = () => this.sequence;
    const failed = (error: unknown) => this.teller.now.error !== error && this.teller.tell({ error });
    this.journal = new JournalReader({ map, limit: LIMIT, after, take, read: plainPage, failed });
    this.journal.wake();
  }

  private readonly take = (page: Page) => {
    if (page.lost || page.newest < this.sequence) {
      void this.start(); // what lies between is not known any more
      return;
    }
    this.sequence = page.events.at(-1)?.sequence ?? this.sequence;
    this.append(page.events);
  };

  private mine(events: JournalEvent[]): JournalEvent[] {
    const { prefix, lastKey } = this;
    if (!prefix && lastKey === null) return events;
    return events.filter((event) => event.key.startsWith(prefix) && (lastKey === null || event.key <= lastKey));
  }

  private rescale() {
    this.scaledAt = Date.now();
    this.stage.rescale();
    this.teller.tell({ scale: this.stage.appearance.scale });
  }

  private counted(): Partial<Shown> {
    const { scene, faulty, placeless } = this.stage;
    const counts = { faulty: faulty.size, withoutPlace: placeless.size };
    const time = { from: this.replay.oldest, to: this.replay.newest };
    return this.teller.now.phase === "ready" ? { objects: scene.count, ...counts, ...time } : { ...counts, ...time };
  }
}
