/** What a screen is called, from its address: the thing it shows, else the place. */
export function titleOf(path: string, jobName: (nameOrId: string) => string): string {
  const [place = "", thing] = path.split("/").filter(Boolean);
  const name = thing === undefined ? (place === "sql" ? "SQL" : capitalised(place || "overview")) : decoded(thing);
  return `${place === "jobs" && thing !== undefined ? jobName(name) : name} · Pitstop`;
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
