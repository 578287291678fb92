import { Button, Checkbox, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconSearch } from "@tabler/icons-react";
import { useDeferredValue, useMemo, useState } from "react";
import type { Job } from "../../../api/client";
import { bytes, count } from "../../../logic/format";
import { CopyAs } from "../../../parts/CopyAs";
import { ProblemAlert } from "../../../parts/Trouble";
import { logCommand } from "../commands";
import { LogView } from "../log/LogView";
import { useLog } from "../log/useLog";
import { type Lines, matchingLines } from "../logic/log";
import { useSetting } from "../useSetting";

const LEVELS = [
  { value: "0", label: "All levels" },
  { value: "2", label: "INFO and graver" },
  { value: "3", label: "WARNING and graver" },
  { value: "4", label: "ERROR and graver" },
];

/** The log of a job: what its runs say of themselves. */
export function Log({ job }: { job: Job }) {
  const [following, setFollowing] = useState(true);
  const [text, setText] = useSetting("find");
  const [level, setLevel] = useSetting("level", "0");
  const [wraps, setWraps] = useSetting("wrap", "no");
  const { lines, error, beginning, readEarlier } = useLog(job, following);
  const wanted = useDeferredValue(text);
  const found = useMemo(() => matchingLines(lines?.lines ?? [], wanted, Number(level)), [lines, wanted, level]);
  const name = job.name ?? job.id;
  return (
    <Stack gap="sm">
      <Group align="end" gap="sm">
        <TextInput
          label="Lines with"
          leftSection={<IconSearch size={16} aria-hidden="true" />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Select
          label="Level"
          data={LEVELS}
          value={level}
          onChange={(value) => setLevel(value ?? "0")}
          allowDeselect={false}
          w={190}
        />
        <Button
          variant="default"
          aria-pressed={following}
          leftSection={
            following ? (
              <IconPlayerPause size={16} aria-hidden="true" />
            ) : (
              <IconPlayerPlay size={16} aria-hidden="true" />
            )
          }
          onClick={() => setFollowing(!following)}
        >
          {following ? "Pause" : "Follow"}
        </Button>
        <Button
          variant="default"
          disabled={beginning || !lines}
          onClick={() => {
            setFollowing(false);
            void readEarlier();
          }}
        >
          Earlier lines
        </Button>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden="true" />}
          disabled={found.length === 0}
          onClick={() => download(`${name}.log`, found.map((line) => `${line.raw}\n`).join(""))}
        >
          Download these lines
        </Button>
        <CopyAs label="the log" command={logCommand(job)} />
        <Checkbox
          label="Wrap lines"
          mih={36}
          checked={wraps === "yes"}
          onChange={(event) => setWraps(event.currentTarget.checked ? "yes" : "no")}
        />
      </Group>
      {error !== null && <ProblemAlert error={error} />}
      <Text size="sm" c="dimmed" mih={20}>
        {lines ? sentence(lines, found.length, following) : "Reading the log…"}
      </Text>
      <LogView
        lines={found}
        wraps={wraps === "yes"}
        following={following}
        onLeaveEnd={() => setFollowing(false)}
        label={`Log of ${name}`}
      />
    </Stack>
  );
}

function sentence(lines: Lines, found: number, following: boolean): string {
  const all = lines.lines.length;
  const parts = [found === all ? `${count(all)} lines.` : `${count(found)} of ${count(all)} lines.`];
  if (!following) parts.push("Paused: new lines come when you follow again.");
  if (lines.forgotten)
    parts.push(`${count(lines.forgotten)} earlier lines are let go: Earlier lines brings them back.`);
  if (lines.lostBytes) parts.push(`${bytes(lines.lostBytes)} lost: the log was rotated away before they were read.`);
  return parts.join(" ");
}

function download(name: string, text: string) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
