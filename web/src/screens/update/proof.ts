/** The proof that nothing was missed: where the old version ended, and where the new one went on. */
import type { JobHistory } from "../../api/client";

export type Epoch = { at: string; epoch: number | null; rows: number | null };
export type Proof = { last: Epoch | null; first: Epoch | null };

/**
 * The last epoch of the run that had stopped by `stopped`, and the first of its own that a later run has ended, as the job's
 * history has them: a run that has just begun tells of the epoch that it goes on from.
 */
export function proofOf(history: Pick<JobHistory, "times" | "job">, stopped: string): Proof {
  const { times, job } = history;
  const runs = job.run ?? [];
  const end = Date.parse(stopped);
  const before = times.findLastIndex((time) => Date.parse(time) <= end);
  const run = runs[before];
  const last = job.epoch?.[before] ?? -1;
  const after = times.findIndex(
    (_, place) => place > before && (runs[place] ?? 0) > (run ?? -1) && (job.epoch?.[place] ?? -1) > last,
  );
  const at = (place: number): Epoch | null => {
    const time = times[place];
    return time === undefined
      ? null
      : { at: time, epoch: job.epoch?.[place] ?? null, rows: job.input_rows?.[place] ?? null };
  };
  return { last: at(before), first: at(after) };
}
