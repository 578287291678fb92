import type { Page } from "./tail";

/** Between two readings, so that a map that is written to all the time is not read all the time. */
const PAUSE_MS = 250;

type Reading = {
  map: string;
  limit: number;
  /** After which sequence to read now; null: not now. */
  after: () => number | null;
  take: (page: Page) => void;
  /** How a page is read. */
  read: (map: string, after: number, limit: number) => Promise<Page>;
  /** Told null when it goes well again. */
  failed: (error: unknown) => void;
};

/** Reads a journal on, whenever it is woken, until there is no more. */
export class JournalReader {
  private reading = false;
  private stopped = false;
  private timer = 0;
  private woken = false;

  constructor(private readonly what: Reading) {}

  wake() {
    this.woken = true;
    if (!this.reading && !this.timer) void this.read();
  }

  stop() {
    this.stopped = true;
    window.clearTimeout(this.timer);
  }

  private async read() {
    this.reading = true;
    this.woken = false;
    try {
      while (!this.stopped && (await this.readPage()));
      this.what.failed(null);
    } catch (error) {
      if (!this.stopped) this.what.failed(error);
    }
    this.reading = false;
    if (this.stopped) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.woken) void this.read();
    }, PAUSE_MS);
  }

  /** True if there may be more at once. */
  private async readPage(): Promise<boolean> {
    const after = this.what.after();
    if (after === null) return false;
    const page = await this.what.read(this.what.map, after, this.what.limit);
    if (this.stopped) return false;
    this.what.take(page);
    return page.events.length >= this.what.limit;
  }
}
