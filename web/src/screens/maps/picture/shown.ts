/** What a picture tells the page around it, a few times a second at most. */
import type { Scale } from "./colours";

export type Shown = {
  phase: "loading" | "ready";
  error: unknown;
  objects: number;
  withoutPlace: number;
  faulty: number;
  /** True if there are more entries than are drawn. */
  cut: boolean;
  history: "none" | "loading" | "ready";
  live: boolean;
  playing: boolean;
  speed: number;
  /** Milliseconds of the map's time: what is shown, and what can be. */
  moment: number;
  from: number | null;
  to: number | null;
  scale: Scale;
};

const PAUSE_MS = 200;

/** Holds what is shown; those who listen hear of changes that come close together once. */
export class Teller {
  private told: Shown;
  private timer = 0;
  private readonly listeners = new Set<() => void>();

  /** `counted` is asked for what has to be counted, before each telling. */
  constructor(
    public now: Shown,
    private readonly counted: () => Partial<Shown>,
  ) {
    this.told = now;
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  snapshot = () => this.told;

  tell(change: Partial<Shown>) {
    this.now = { ...this.now, ...change };
    this.timer ||= window.setTimeout(() => {
      this.timer = 0;
      this.pass();
    }, PAUSE_MS);
  }

  /** The same before anything else is drawn: words that are late contradict what one sees. */
  tellAtOnce(change: Partial<Shown>) {
    this.now = { ...this.now, ...change };
    this.stop();
    this.pass();
  }

  stop() {
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  private pass() {
    this.told = this.now = { ...this.now, ...this.counted() };
    for (const listener of this.listeners) listener();
  }
}
