import { exact } from "../../logic/format";

/** A moment of today as a clock shows it, to the second; wholly for who points at it. */
export function Clock({ at }: { at: string | null }) {
  if (!at) return <span>–</span>;
  return (
    <time dateTime={at} title={exact(at)} className="figure">
      {new Date(at).toLocaleTimeString("sv-SE")}
    </time>
  );
}
