import { useEffect, useState } from "react";
import { duration } from "../../logic/format";
import classes from "../../parts/version/update.module.css";

const TICK_MS = 100;

/** The time since a moment, running. */
export function Stopwatch({ since }: { since: string }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), TICK_MS);
    return () => window.clearInterval(timer);
  }, []);
  return (
    <span className={classes.watch} role="timer" aria-live="off">
      {duration(Math.max(0, now - Date.parse(since)))}
    </span>
  );
}
