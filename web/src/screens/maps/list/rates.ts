/** How fast maps are written to, from the sequences of their journals as they come. */

type Sample = { at: number; newest: number };

const SPAN_MS = 10_000;

/** Keeps, for each map, what its newest sequence was in the last ten seconds. */
export class WriteRates {
  private readonly samples = new Map<string, Sample[]>();

  /** Take over what is known of a map at a moment. */
  saw(map: string, newest: number, at: number) {
    const samples = this.samples.get(map) ?? [];
    const last = samples.at(-1);
    if (last && newest < last.newest) samples.length = 0;
    if (last && newest === last.newest) return;
    samples.push({ at, newest });
    while (samples.length > 2 && (samples[1] as Sample).at <= at - SPAN_MS) samples.shift();
    this.samples.set(map, samples);
  }

  /** Writes per second until now; null before there has been anything to compare. */
  perSecond(map: string, now: number): number | null {
    const samples = this.samples.get(map);
    const [first, last] = [samples?.[0], samples?.at(-1)];
    if (!first || !last || now - first.at < 1000) return null;
    if (now - last.at > SPAN_MS || first === last) return 0;
    return (1000 * (last.newest - first.newest)) / (now - first.at);
  }
}
