import { expect, test } from "vitest";
import { proofOf } from "./proof";

const at = (second: number) => `2026-11-23T01:00:${String(second).padStart(2, "0")}Z`;
const HISTORY = {
  times: [at(1), at(3), at(33), at(35)],
  job: { run: [4, 4, 5, 5], epoch: [15, 16, 17, 18], input_rows: [100, 120, 190, 200] },
};

test("the epoch before the stop, and the first of the next run", () => {
  expect(proofOf(HISTORY, "2026-11-23T01:00:03.400Z")).toEqual({
    last: { at: at(3), epoch: 16, rows: 120 },
    first: { at: at(33), epoch: 17, rows: 190 },
  });
});

test("a run that has just begun tells of the epoch that it goes on from", () => {
  const begun = {
    times: HISTORY.times,
    job: { run: [4, 4, 5, 5], epoch: [15, 16, 16, 17], input_rows: [100, 120, 120, 190] },
  };
  expect(proofOf(begun, at(4)).first).toEqual({ at: at(35), epoch: 17, rows: 190 });
});

test("while the gap lasts there is no first one", () => {
  const gap = { times: HISTORY.times.slice(0, 2), job: { run: [4, 4], epoch: [15, 16], input_rows: [100, 120] } };
  expect(proofOf(gap, at(4))).toEqual({ last: { at: at(3), epoch: 16, rows: 120 }, first: null });
});

test("a history that begins later knows nothing of before", () => {
  expect(proofOf({ times: [], job: {} }, at(4))).toEqual({ last: null, first: null });
  expect(proofOf({ times: [at(33)], job: { run: [5], epoch: [17], input_rows: [190] } }, at(4))).toEqual({
    last: null,
    first: { at: at(33), epoch: 17, rows: 190 },
  });
});
