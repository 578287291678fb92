import { Group, Text } from "@mantine/core";
import { count, duration } from "../../../logic/format";
import { css, OTHERS, onScale } from "./colours";
import classes from "./picture.module.css";
import type { Shown } from "./shown";

const STEPS = [0, 0.25, 0.5, 0.75, 1];

type Props = { shown: Shown; colour: string | null; faults: string | null; stale: number };

/** What the colours and signs of the picture mean. */
export function Legend({ shown, colour, faults, stale }: Props) {
  const { scale } = shown;
  return (
    <Group gap="md" mih={24} fz="sm" component="section" aria-label="Legend">
      {scale.kind === "numbers" && (
        <Group gap={6} wrap="nowrap">
          <Text size="sm" fw={600} className="breaks">
            {colour}
          </Text>
          <span className="figure">{scale.from.toLocaleString("en-US")}</span>
          <span
            className={classes.ramp}
            style={{
              backgroundImage: `linear-gradient(to right, ${STEPS.map((step) => css(onScale(step))).join(",")})`,
            }}
          />
          <span className="figure">{scale.to.toLocaleString("en-US")}</span>
        </Group>
      )}
      {scale.kind === "words" && (
        <>
          <Text size="sm" fw={600} className="breaks">
            {colour}
          </Text>
          {scale.words.map((each) => (
            <Sign
              key={each.word}
              colour={css(each.colour)}
              label={`${each.word.slice(0, 60)} (${count(each.count)})`}
            />
          ))}
          {scale.others > 0 && <Sign colour={css(OTHERS)} label={`others (${count(scale.others)})`} />}
        </>
      )}
      <Sign className={classes.stale} label={`not written for ${duration(stale)}`} />
      {faults !== null && <Sign className={classes.fault} label={`something in ${faults}`} />}
    </Group>
  );
}

function Sign({ colour, className, label }: { colour?: string; className?: string; label: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      <span className={`${classes.sign} ${className ?? ""}`} style={colour ? { background: colour } : undefined} />
      <span className="breaks">{label}</span>
    </Group>
  );
}
