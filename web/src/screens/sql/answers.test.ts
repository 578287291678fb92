import { expect, test } from "vitest";
import { cellText } from "../../parts/rows/grid";
import { Answers, MOST_ANSWERS, MOST_LETTERS, MOST_ROWS, notShown } from "./answers";

const HEAD = '{"columns": [{"name": "n", "type": "BIGINT"}]}';
const STREAM = '{"columns": [{"name": "n", "type": "BIGINT"}], "endless": true}';
const row = (value: unknown) => `{"row": [${value}]}`;

test("answers come one after the other, each with its own columns", () => {
  const answers = new Answers();
  for (const line of ['{"columns": []}', '{"rows": 0}', HEAD, row(1)]) answers.take(line);
  expect(answers.snapshot()).toEqual([
    { columns: [], rows: [], count: 0, endless: false, ended: true },
    { columns: [["n", "BIGINT"]], rows: [{ place: 0, values: [1] }], count: 1, endless: false, ended: false },
  ]);
});

test("every digit stays", () => {
  const answers = new Answers();
  answers.take(HEAD);
  answers.take('{"row": [9007199254740993, 1.0, "NaN"]}');
  const values = answers.snapshot()[0]?.rows[0]?.values ?? [];
  expect(values.map(cellText)).toEqual(["9007199254740993", "1.0", "NaN"]);
});

test("of a query the first rows are kept, and the others counted", () => {
  const answers = new Answers();
  answers.take(HEAD);
  for (let n = 0; n < MOST_ROWS + 5; n++) answers.take(row(n));
  const [found] = answers.snapshot();
  expect(found?.rows.length).toBe(MOST_ROWS);
  expect(found?.rows.at(-1)?.values).toEqual([MOST_ROWS - 1]);
  expect(found && notShown(found)).toBe("5 more rows are not shown.");
});

test("of a stream the newest rows are kept, with their own places", () => {
  const answers = new Answers();
  answers.take(STREAM);
  for (let n = 0; n < MOST_ROWS + 1; n++) answers.take(row(n));
  const [found] = answers.snapshot();
  expect(found?.rows[0]).toEqual({ place: 1, values: [1] });
  expect(found?.rows.length).toBe(MOST_ROWS);
  expect(found && notShown(found)).toBe("1 older row is not shown.");
});

test("long rows are fewer", () => {
  const long = row(`"${"x".repeat(MOST_LETTERS / 4)}"`);
  for (const [head, shown] of [
    [HEAD, [0, 1, 2]],
    [STREAM, [3, 4, 5]],
  ] as const) {
    const answers = new Answers();
    answers.take(head);
    for (let n = 0; n < 6; n++) answers.take(long);
    const [found] = answers.snapshot();
    expect([found?.rows.map((each) => each.place), found?.count]).toEqual([shown, 6]);
  }
});

test("a snapshot does not change with what comes later", () => {
  const answers = new Answers();
  answers.take(HEAD);
  answers.take(row(1));
  const before = answers.snapshot();
  answers.take(row(2));
  expect(before[0]?.rows.length).toBe(1);
});

test("an error is told with what came before it", () => {
  const answers = new Answers();
  answers.take('{"columns": []}');
  answers.take('{"rows": 0}');
  answers.take('{"error": {"code": "NOT_FOUND", "message": "No such job", "details": {}}}');
  expect(answers.fault?.message).toBe("No such job");
  expect(answers.snapshot().length).toBe(1);
});

test("of very many statements the last ones are shown", () => {
  const answers = new Answers();
  for (let n = 0; n < MOST_ANSWERS + 3; n++) answers.take('{"columns": []}');
  expect([answers.snapshot().length, answers.hidden]).toEqual([MOST_ANSWERS, 3]);
});
