import { useState } from "react";
import { useNow } from "./When";

/** Whole seconds since this came on the page; nothing is read out each second. */
export function Seconds() {
  const now = useNow();
  const [since] = useState(() => Date.now());
  return (
    <span className="figure" aria-hidden="true">
      {Math.max(0, Math.round((now - since) / 1000))} s
    </span>
  );
}
