import { expect, test } from "vitest";
import { curlLine, shellLine } from "../../logic/commands";
import { queryOfStage, sqlCommand, sqlLink } from "./commands";

test("statements as a line for the shell, and for curl", () => {
  const command = sqlCommand("SELECT 'it''s' FROM cars");
  expect(shellLine(command.cli)).toBe(`pitstop sql -e 'SELECT '\\''it'\\'''\\''s'\\'' FROM cars'`);
  expect(curlLine(sqlCommand("SHOW JOBS"), "http://h")).toBe(
    "curl --fail-with-body -X POST -H \"Authorization: Bearer $PITSTOP_TOKEN\" -H 'Content-Type: application/json' " +
      `-d '{"statements":"SHOW JOBS"}' http://h/api/v1/sql`,
  );
});

test("a link holds the statements whole", () => {
  const text = 'SELECT a & b\nFROM "x y" -- ä';
  expect(new URL(sqlLink(text, "http://h")).searchParams.get("q")).toBe(text);
});

test("the state of a stage, whatever it is called", () => {
  expect(queryOfStage("monday", 'windows "by" vin')).toBe(
    'SELECT * FROM SNAPSHOT "monday" STAGE "windows ""by"" vin" AS state',
  );
});
