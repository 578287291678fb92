/** Every line that "copy as CLI" gives, with names that a careless line would break on: tests/doors/cli reads them with the real command line. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Job } from "../api/client";
import { NO_ARTIFACT } from "../parts/artifact";
import { checkCommand } from "../parts/version/check";
import * as cluster from "../screens/cluster/commands";
import * as job from "../screens/job/commands";
import * as maps from "../screens/maps/commands";
import * as snapshots from "../screens/snapshots/commands";
import * as sql from "../screens/sql/commands";
import { submitCommand } from "../screens/submit/request";
import { updateCommand } from "../screens/update/useUpdate";
import { type Command, shellLine } from "./commands";
import { PLAIN_VERBS } from "./verbs";

const RECORD = "../../../tests/doors/cli/lines_of_the_page.json";
const EVIL = ["plain", "two words", "it's", "$(reboot)", 'a"b', "new\nline", "-v", "--help", "ä€", "\\"];
// Modules with commands also ask the server, where there is a page.
vi.hoisted(() => vi.stubGlobal("window", { location: { origin: "http://127.0.0.1:8701" } }));
/** What can name a job, a snapshot, a map or a stage. */
const BACK = { options: {}, state: "present" as const, write_again: false };
const NAMES = ["plain", "two words", "ä€.1_-"];

type Line = { line: string; means: string[] };

function lines(words: string[], make: (word: string) => [Command, string[]]): Line[] {
  return words.map((word) => {
    const [command, means] = make(word);
    return { line: shellLine(command.cli), means };
  });
}

const named = (name: string) => ({ id: "0401-9f77-b9c0-0001", name });
const draft = (evil: string) => ({
  artifact: {
    ...NO_ARTIFACT,
    from: "place" as const,
    place: `${evil.trim()}.py`,
    entry: "jobs:main",
    args: `${evil}\n-v`,
  },
  options: [{ id: 1, name: "partitions", value: evil }],
  renamed: { now: "before" },
});
/** An argument of a job is a line. */
const SINGLE = EVIL.filter((word) => !word.includes("\n"));
const coded = (evil: string) => [`${evil}.py`, evil, "-v", `partitions=${evil}`, "now=before", "jobs:main"];

const MADE: Record<string, Line[]> = {
  ...Object.fromEntries(
    PLAIN_VERBS.map((verb) => [
      `plainCommand ${verb}`,
      lines(NAMES, (name) => [job.plainCommand(named(name), verb), [name]]),
    ]),
  ),
  "plainCommand of a job without a name": lines(["x"], () => [
    job.plainCommand({ id: "0401-9f77-b9c0-0001", name: null }, "discard"),
    ["0401-9f77-b9c0-0001"],
  ]),
  exportCommand: lines(NAMES, (name) => [job.exportCommand(named(name), { name, cancel: false }), [name, name]]),
  "exportCommand that cancels": lines(EVIL, (name) => [
    job.exportCommand(named("speeds"), { name, cancel: true }),
    ["speeds", name],
  ]),
  goBackCommand: lines(NAMES, (name) => [job.goBackCommand(named(name), 3, 60, BACK), [name, "3", "60"]]),
  configureCommand: lines(EVIL, (value) => [
    job.configureCommand(named("speeds"), { value }),
    ["speeds", `value=${value}`],
  ]),
  logCommand: lines(NAMES, (name) => [job.logCommand(named(name)), [name]]),
  settingsCommand: lines(["x"], () => [cluster.settingsCommand(), []]),
  shutDownCommand: lines(["x"], () => [cluster.shutDownCommand(), []]),
  addMemberCommand: lines(["x"], () => [cluster.addMemberCommand(), []]),
  removeMemberCommand: lines(EVIL, (name) => [cluster.removeMemberCommand(name), [name]]),
  logLevelCommand: lines(EVIL, (logger) => [
    cluster.logLevelCommand({ logger, level: "DEBUG", job: "speeds" }),
    [logger, "DEBUG", "speeds"],
  ]),
  "logLevelCommand that takes it back": lines(EVIL, (logger) => [
    cluster.logLevelCommand({ logger, level: null, job: null }),
    [logger, "usual"],
  ]),
  getCommand: lines(EVIL, (key) => [maps.getCommand("cars", key), ["cars", key]]),
  putCommand: lines(EVIL, (key) => [maps.putCommand("cars", key, "-5", 3), ["cars", key, "-5", "3"]]),
  deleteCommand: lines(EVIL, (key) => [maps.deleteCommand("cars", key, 3), ["cars", key, "3"]]),
  searchCommand: lines(EVIL, (where) => [maps.searchCommand("cars", where, "k"), ["cars", where, "k"]]),
  eventCommand: lines(NAMES, (name) => [maps.eventCommand(name, 8), [name, "7", "1"]]),
  configureCommandOfMap: lines(NAMES, (name) => [maps.configureCommand(name, 100, 3600), [name, "100", "3600"]]),
  deletion: lines(EVIL, (name) => [snapshots.deletion(name), [name]]),
  comparison: lines(EVIL, (name) => [snapshots.comparison(name, "other"), [name, "other"]]),
  inspection: lines(EVIL, (name) => [snapshots.inspection(name), [name]]),
  stateQuery: lines(EVIL, (sql) => [
    snapshots.stateQuery("monday", "per car", sql, 10),
    ["monday", "per car", sql, "10"],
  ]),
  stateExport: lines(NAMES, (stage) => [snapshots.stateExport("monday", stage), ["monday", stage]]),
  sqlCommand: lines(EVIL, (text) => [sql.sqlCommand(text), [text]]),
  submitCommand: lines(SINGLE, (evil) => [
    submitCommand({ draft: draft(evil), name: "speeds", snapshot: "monday" }),
    [...coded(evil), "speeds", "monday"],
  ]),
  checkCommand: lines(SINGLE, (evil) => [
    checkCommand({ draft: draft(evil), against: { job: "speeds" } }),
    [...coded(evil), "speeds"],
  ]),
  updateCommand: lines(SINGLE, (evil) => [
    updateCommand(named("speeds") as Job, { draft: draft(evil), snapshot: "before", watchSeconds: 30 }),
    [...coded(evil), "speeds", "before", "30"],
  ]),
};

test("the record has the line of every action", async () => {
  await expect(`${JSON.stringify(MADE, null, 1)}\n`).toMatchFileSnapshot(RECORD);
});

test("no action is left out", () => {
  const makers = { ...job, ...cluster, ...maps, ...snapshots, ...sql };
  const others = new Set(["firstPutLine", "putBody", "fileName", "sqlLink", "queryOfStage"]);
  const told = Object.keys(MADE).map((name) => name.split(" ")[0]);
  expect(Object.keys(makers).filter((name) => !others.has(name) && !told.includes(name))).toEqual([]);
  const known = /(commands|request|check|useUpdate)\.ts$|\.test\.ts$/;
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((path) => /\.tsx?$/.test(path));
  const elsewhere = sources.filter(
    (path) => !known.test(path) && /\bcli: \[/.test(readFileSync(join("src", path), "utf8")),
  );
  expect(elsewhere).toEqual([]);
});
