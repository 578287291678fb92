import { expect, test } from "vitest";
import { goBackCommand } from "./commands";

const JOB = { id: "0401-9f77-b9c0-0001", name: "speeds" };

test("a job that goes back as it is says nothing of its state", () => {
  const command = goBackCommand(JOB, 3, 0, { options: {}, state: "present", write_again: false });
  expect(command.cli).toEqual(["pitstop", "rollback", "--to", "3", "speeds"]);
});

test("what a job starts from and what it is allowed are the options of the command line", () => {
  const options = { allow_drop: true, allow_shared: true };
  const command = goBackCommand(JOB, 3, 60, { options, state: "empty", write_again: true });
  expect(command.cli.slice(4, -1)).toEqual([
    "--watch",
    "60",
    "--state",
    "empty",
    "--write-again",
    "--allow-drop",
    "--allow-shared",
  ]);
  expect(command.body).toEqual({ options, state: "empty", write_again: true });
});
