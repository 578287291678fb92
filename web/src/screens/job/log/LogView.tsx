import { Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type PointerEvent, useEffect, useRef } from "react";
import classes from "../job.module.css";
import { gravity, type Line, told } from "../logic/log";

type Props = { lines: Line[]; wraps: boolean; following: boolean; onLeaveEnd: () => void; label: string };

const LINE_PX = 20;

/** Lines of a log, of which only those that are seen are drawn. Who scrolls up leaves its end. */
export function LogView({ lines, wraps, following, onLeaveEnd, label }: Props) {
  const view = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => view.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
    getItemKey: (index) => lines[index]?.number ?? index,
  });
  const last = lines.at(-1)?.number;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end is shown whenever there is another one
  useEffect(() => {
    if (!following || lines.length === 0) return;
    const toEnd = () => virtual.scrollToIndex(lines.length - 1, { align: "end" });
    toEnd();
    const frame = requestAnimationFrame(toEnd);
    return () => cancelAnimationFrame(frame);
  }, [last, lines.length, following, wraps]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines have other heights when they wrap
  useEffect(() => virtual.measure(), [wraps]);
  const first = lines[0]?.number;
  const before = useRef(first);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when earlier lines have come
  useEffect(() => {
    const known = before.current;
    before.current = first;
    if (following || known === undefined || first === undefined || first >= known) return;
    const place = lines.findIndex((line) => line.number >= known);
    if (place > 0) virtual.scrollToIndex(place, { align: "start" });
  }, [first]);
  const leave = () => {
    if (following) onLeaveEnd();
  };
  const onKey = (event: KeyboardEvent) => {
    if (["ArrowUp", "PageUp", "Home"].includes(event.key)) leave();
  };
  const onPointer = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    if (event.clientX - box.left > event.currentTarget.clientWidth) leave();
  };
  return (
    <div
      ref={view}
      role="log"
      aria-live="off"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what is scrolled has to be reached by keyboard
      tabIndex={0}
      className={classes.log}
      onWheel={(event) => event.deltaY < 0 && leave()}
      onTouchMove={leave}
      onKeyDown={onKey}
      onPointerDown={onPointer}
    >
      {lines.length === 0 && (
        <Text p="sm" c="dimmed">
          No lines.
        </Text>
      )}
      <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          return (
            line && (
              <div
                key={item.key}
                ref={wraps ? virtual.measureElement : undefined}
                data-index={item.index}
                data-wraps={wraps || undefined}
                data-grave={gravityName(line.raw)}
                className={classes.line}
                style={{ transform: `translateY(${item.start}px)`, height: wraps ? undefined : LINE_PX }}
              >
                <Words raw={line.raw} wraps={wraps} />
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

function Words({ raw, wraps }: { raw: string; wraps: boolean }) {
  const { time, level, logger, text } = told(raw);
  return (
    <>
      {time && <span className={classes.faint}>{time} </span>}
      {level && `${level.padEnd(7)} `}
      {logger && <span className={classes.faint}>{logger} </span>}
      {wraps ? text : text.replaceAll("\n", " ⏎ ")}
    </>
  );
}

function gravityName(raw: string): "error" | "warn" | undefined {
  const grave = gravity(told(raw).level);
  return grave >= 4 ? "error" : grave === 3 ? "warn" : undefined;
}
