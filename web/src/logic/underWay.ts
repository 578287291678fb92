/** What has been asked and is not answered yet, known at once: what the page shows of it comes with its next drawing only. */

/** The second click of a double one is none, even if the answer came between the two. */
const DOUBLE_CLICK_MS = 500;

export class UnderWay {
  /** Until when each may not begin again. */
  private readonly until = new Map<string, number>();
  private readonly begun = new Map<string, number>();

  /** True if it begins with that; false if it is under way already. */
  begin(what: string, now = performance.now()): boolean {
    if ((this.until.get(what) ?? 0) > now) return false;
    this.until.set(what, Number.POSITIVE_INFINITY);
    this.begun.set(what, now);
    return true;
  }

  /** It was refused: who has mended it asks again at once. */
  fail(what: string) {
    this.until.delete(what);
  }

  /** It is done. */
  end(what: string) {
    this.until.set(what, (this.begun.get(what) ?? 0) + DOUBLE_CLICK_MS);
  }
}
