import { Group, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconHistory, IconLink, IconPlayerPlay, IconPlayerStop } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState, useSyncExternalStore } from "react";
import { useMayAct } from "../../api/queries";
import { ActionButton } from "../../parts/ActionButton";
import { CopyAs } from "../../parts/CopyAs";
import { sqlCommand, sqlLink } from "./commands";
import { keepDraft, keptDraft } from "./draft";
import { Editor, type Writing } from "./Editor";
import { HistoryDrawer } from "./HistoryDrawer";
import { useHistory } from "./history";
import { offsetsOf, placeIn } from "./place";
import { Query, type Seen } from "./query";
import { Results } from "./Results";
import classes from "./sql.module.css";
import { useNames } from "./useNames";

const route = getRouteApi("/sql");

/** Statements of SQL, and what they give. An address may fill the editor; only a reader runs what stands there. */
export function SqlScreen() {
  const { q } = route.useSearch();
  const go = useNavigate({ from: "/sql" });
  const [query] = useState(() => new Query());
  const seen = useSyncExternalStore(query.subscribe, query.snapshot);
  const [initial] = useState(() => q ?? keptDraft());
  const [text, setText] = useState(initial);
  const [typing, setTyping] = useState(false);
  const [looking, setLooking] = useState(false);
  const { names, learn } = useNames(typing);
  const { runs, add, forget } = useHistory();
  const editor = useRef<Writing>(null);
  const hint = useId();
  const mayAct = useMayAct();
  const running = seen.phase === "running";

  useEffect(() => query.stop, [query]);
  useEffect(() => {
    if (q !== undefined && q !== editor.current?.text()) editor.current?.write(q);
  }, [q]);

  const changed = (next: string) => {
    setText(next);
    keepDraft(next);
    // The address is not what stands here any more.
    if (q !== undefined && next !== q) void go({ search: {}, replace: true });
  };
  const run = async () => {
    const chosen = editor.current?.chosen();
    if (!chosen?.text.trim() || query.snapshot().phase === "running") return;
    add(chosen.text);
    editor.current?.mark(null);
    const found = await query.run(chosen.text, chosen.from);
    const part = faultPart(found);
    if (part && editor.current?.text().slice(found.from, found.from + found.text.length) === found.text) {
      editor.current.mark(part);
    }
    if (/\b(create|drop)\b/i.test(chosen.text)) learn();
  };
  const link = async () => {
    await navigator.clipboard.writeText(sqlLink(text, window.location.origin));
    notifications.show({ message: "Copied", autoClose: 1500, closeButtonProps: { "aria-label": "Close" } });
  };
  const nothing = text.trim() ? null : "Write a statement first.";
  return (
    <Stack className={classes.box}>
      <Title order={1} size="h2">
        SQL
      </Title>
      <Editor
        ref={editor}
        initial={initial}
        names={names}
        onChange={changed}
        onFocus={() => setTyping(true)}
        onRun={() => void run()}
        describedBy={hint}
      />
      <Text size="sm" c="dimmed" id={hint}>
        Ctrl Enter (⌘ Enter) runs the selection, or all. Ctrl Space offers words and names. Escape, then Tab, leaves the
        editor.
        {!mayAct && " You have signed in as a viewer: SHOW, EXPLAIN, DESCRIBE, and SELECT on maps are for you."}
      </Text>
      <Group className={classes.actions}>
        <ActionButton
          leftSection={<IconPlayerPlay size={16} aria-hidden="true" />}
          refused={running ? "Statements are running: stop them first." : nothing}
          onClick={() => void run()}
        >
          Run
        </ActionButton>
        <ActionButton
          variant="default"
          leftSection={<IconPlayerStop size={16} aria-hidden="true" />}
          refused={running ? null : "Nothing is running."}
          onClick={query.stop}
        >
          Stop
        </ActionButton>
        <ActionButton
          variant="default"
          leftSection={<IconHistory size={16} aria-hidden="true" />}
          onClick={() => setLooking(true)}
        >
          History
        </ActionButton>
        <ActionButton
          variant="default"
          leftSection={<IconLink size={16} aria-hidden="true" />}
          refused={nothing}
          onClick={() => void link()}
        >
          Copy link
        </ActionButton>
        <CopyAs label="the statements" command={sqlCommand(text)} />
      </Group>
      <section aria-label="Results" className={classes.results}>
        <Results seen={seen} onGoTo={() => editor.current?.goTo(faultPart(seen)?.from ?? 0)} />
      </section>
      <HistoryDrawer
        opened={looking}
        runs={runs}
        onPick={(picked) => {
          editor.current?.write(picked);
          setLooking(false);
        }}
        onForget={forget}
        onClose={() => setLooking(false)}
      />
    </Stack>
  );
}

/** The part of the editor's text that an error is about. */
function faultPart(seen: Seen): { from: number; to: number } | null {
  const place = seen.error && placeIn(seen.error.message);
  if (!place) return null;
  const { from, to } = offsetsOf(seen.text, place);
  return { from: seen.from + from, to: seen.from + to };
}
