/** Figures as people read them. What is not known is "–", never NaN. */

export const UNKNOWN = "–";
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function count(value: number | null | undefined): string {
  return known(value) ? whole.format(value) : UNKNOWN;
}

/** In three digits and a letter: 12,345 is 12.3k. */
export function short(value: number | null | undefined): string {
  if (!known(value)) return UNKNOWN;
  return scaled(value, 1000, ["", "k", "M", "G", "T"], "");
}

export function rate(value: number | null | undefined): string {
  return known(value) ? `${short(value)}/s` : UNKNOWN;
}

/** A share of a whole, such as 0.25. */
export function percent(value: number | null | undefined): string {
  return known(value) ? `${Math.round(value * 100)} %` : UNKNOWN;
}

export function bytes(value: number | null | undefined): string {
  return known(value) ? scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"], " ") : UNKNOWN;
}

export function duration(ms: number | null | undefined): string {
  if (!known(ms)) return UNKNOWN;
  const sign = ms < 0 ? "-" : "";
  const size = Math.abs(ms);
  if (size < 1000) return `${sign}${Math.round(size)} ms`;
  if (size < 59_950) return `${sign}${(size / 1000).toFixed(1)} s`;
  const seconds = Math.round(size / 1000);
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86_400) return `${sign}${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${sign}${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

/** How long ago a moment was, in its largest unit. */
export function age(moment: string | null | undefined, now: number): string {
  if (!moment) return UNKNOWN;
  const seconds = (now - Date.parse(moment)) / 1000;
  const size = Math.abs(seconds);
  if (Number.isNaN(seconds)) return UNKNOWN;
  if (size < 5) return "just now";
  const text =
    size < 60
      ? `${Math.floor(size)} s`
      : size < 3600
        ? `${Math.floor(size / 60)} min`
        : size < 86_400
          ? `${Math.floor(size / 3600)} h`
          : `${Math.floor(size / 86_400)} d`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/** How moments are written: how long ago, where the reader is, or in UTC. */
export type TimesAs = "relative" | "local" | "utc";

/** A moment as the reader wants moments. */
export function moment(at: string | null | undefined, now: number, as: TimesAs): string {
  if (as === "relative" || !at) return age(at, now);
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return UNKNOWN;
  return as === "local" ? date.toLocaleString("sv-SE") : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** To the second, where the reader is. */
export function exact(moment: string | null | undefined): string {
  if (!moment) return UNKNOWN;
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? UNKNOWN : `${date.toLocaleString("sv-SE")} (${date.toISOString()})`;
}

function known(value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function scaled(value: number, step: number, units: string[], gap: string): string {
  let size = value;
  let place = 0;
  while (Math.abs(size) >= step && place < units.length - 1) {
    size /= step;
    place += 1;
  }
  if (place === 0)
    return `${whole.format(Number.isInteger(size) ? size : Math.round(size * 10) / 10)}${gap}${units[0]}`;
  const digits = Math.abs(size) < 10 ? 2 : Math.abs(size) < 100 ? 1 : 0;
  return `${size.toFixed(digits)}${gap}${units[place]}`;
}
