import { Alert, Button, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { count, duration } from "../../logic/format";
import { RowsTable } from "../../parts/rows/RowsTable";
import { Seconds } from "../../parts/Seconds";
import { type Answer, notShown } from "./answers";
import { placeIn, pointed } from "./place";
import type { Seen } from "./query";
import classes from "./sql.module.css";

type Props = { seen: Seen; onGoTo: () => void };

/** What statements have given so far, and how it ended. */
export function Results({ seen, onGoTo }: Props) {
  if (seen.phase === "idle") {
    return <Text c="dimmed">The rows come here. Statements that change something are carried out at once.</Text>;
  }
  const several = seen.answers.length + seen.hidden > 1;
  return (
    <Stack gap="sm">
      <Status seen={seen} />
      {seen.error && <Fault seen={seen} onGoTo={onGoTo} />}
      {seen.hidden > 0 && (
        <Text size="sm">The answers of the first {count(seen.hidden)} statements are not shown.</Text>
      )}
      {seen.answers.map((answer, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: statements have no other name
        <Shown key={`${seen.run} ${place}`} answer={answer} number={several ? seen.hidden + place + 1 : null} />
      ))}
    </Stack>
  );
}

const ENDED = { done: "Done", failed: "Failed", stopped: "Stopped" };

function Status({ seen }: { seen: Seen }) {
  const rows = seen.answers.reduce((sum, answer) => sum + answer.count, 0);
  const gives = seen.answers.some((answer) => answer.columns.length > 0);
  const counted = gives ? `${count(rows)} ${rows === 1 ? "row" : "rows"}` : null;
  const ended = seen.phase === "running" || seen.phase === "idle" ? null : ENDED[seen.phase];
  return (
    <Text size="sm" className="figure">
      {/* How many rows have come is not read out each time that it changes. */}
      <span role="status">
        {ended ? [ended, counted, `in ${duration(seen.took)}`].filter(Boolean).join(", ") : "Running"}
      </span>
      {!ended && (
        <>
          {counted && `, ${counted}`}, <Seconds key={seen.run} />
        </>
      )}
    </Text>
  );
}

function Shown({ answer, number }: { answer: Answer; number: number | null }) {
  const missing = notShown(answer);
  const name = number === null ? "Rows" : `Rows of statement ${count(number)}`;
  if (!answer.columns.length) {
    return (
      <Text size="sm">
        {[number === null ? null : `${count(number)}:`, answer.ended ? "OK" : "…"].filter(Boolean).join(" ")}
      </Text>
    );
  }
  return (
    <div>
      <Text size="sm" mb={4}>
        {number !== null && `${count(number)}: `}
        {number !== null && `${count(answer.count)} ${answer.count === 1 ? "row" : "rows"}. `}
        {answer.endless && "A stream: its newest rows are the last ones. "}
        {missing}
      </Text>
      <RowsTable
        label={name}
        columns={answer.columns}
        rows={answer.rows}
        empty={answer.ended ? "The query gives no rows." : "No row has come yet."}
      />
    </div>
  );
}

function Fault({ seen, onGoTo }: Props) {
  const sentence = seen.error?.message ?? "";
  const place = placeIn(sentence);
  return (
    <Alert
      role="alert"
      color="red"
      variant="outline"
      icon={<IconAlertTriangle />}
      title={seen.error?.code === "FORBIDDEN" ? "Not allowed" : "It could not be carried out"}
    >
      <Text style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{sentence}</Text>
      {place && (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line is scrolled by keyboard, too */}
          <pre className={classes.pointed} tabIndex={0}>
            {pointed(seen.text, place)}
          </pre>
          <Button size="xs" variant="default" mt="xs" onClick={onGoTo}>
            Go to line {place.line}, column {place.column}
          </Button>
        </>
      )}
    </Alert>
  );
}
