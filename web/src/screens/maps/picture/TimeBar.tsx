import { Button, Group, Select, Slider, Text } from "@mantine/core";
import { IconHistory, IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useState } from "react";
import { exact } from "../../../logic/format";
import { SIGNAL } from "../../../parts/theme";
import type { Picture } from "./picture";
import classes from "./picture.module.css";
import type { Shown } from "./shown";

const SPEEDS = ["1", "2", "5", "10", "30", "60", "300"].map((value) => ({ value, label: `${value} ×` }));

/** An arrow key goes so far: a five-hundredth of what is kept, in whole seconds if that is more than one. */
function stepOf(from: number, to: number): number {
  return Math.max(100, Math.round((to - from) / 500_000) * 1000);
}

/** The map as it was: from the oldest event of its journal until now. */
export function TimeBar({ picture, shown }: { picture: Picture; shown: Shown }) {
  const [wanted, setWanted] = useState<number | null>(null);
  const ready = shown.history === "ready" && shown.from !== null && shown.to !== null && shown.to > shown.from;
  const [from, to] = [shown.from ?? 0, shown.to ?? 1];
  const moment = wanted ?? (shown.live ? to : shown.moment);
  const text = exact(shown.moment ? new Date(wanted ?? shown.moment).toISOString() : null);
  return (
    <Group gap="sm" mih={44} component="section" aria-label="Time">
      {shown.history === "ready" ? (
        <>
          <Button
            size="xs"
            variant="default"
            w={110}
            disabled={!ready}
            leftSection={shown.playing ? <IconPlayerPause size={14} /> : <IconPlayerPlay size={14} />}
            onClick={() => picture.play(!shown.playing)}
          >
            {shown.playing ? "Pause" : "Play"}
          </Button>
          <Select
            size="xs"
            aria-label="Speed"
            data={SPEEDS}
            value={String(shown.speed)}
            onChange={(value) => value && picture.setSpeed(Number(value))}
            allowDeselect={false}
            w={84}
          />
          <Slider
            className={classes.slider}
            min={from}
            max={to}
            step={stepOf(from, to)}
            value={moment}
            disabled={!ready}
            label={(value) => exact(new Date(value).toISOString()).slice(11, 19)}
            thumbLabel="Moment"
            thumbProps={{ "aria-valuetext": text }}
            onChange={(value) => {
              setWanted(value);
              picture.seek(value);
            }}
            onChangeEnd={() => setWanted(null)}
          />
          <Button
            size="xs"
            variant={shown.live ? "filled" : "default"}
            color={shown.live ? SIGNAL.good : undefined}
            aria-pressed={shown.live}
            onClick={() => picture.goLive()}
          >
            Live
          </Button>
        </>
      ) : (
        <Button
          size="xs"
          variant="default"
          leftSection={<IconHistory size={14} />}
          loading={shown.history === "loading"}
          disabled={shown.phase !== "ready"}
          onClick={() => void picture.readHistory()}
        >
          Replay the journal
        </Button>
      )}
      <Text size="sm" className={`figure ${classes.time}`}>
        {shown.live ? "Newest write " : "As of "}
        {text}
      </Text>
    </Group>
  );
}
