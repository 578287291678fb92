/** Actions of the page as lines for a terminal. */

export type Command = {
  /** Words of our own command line: `["pitstop", "suspend", "speeds"]`. */
  cli: string[];
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the server's address, with what is in it encoded already. */
  path: string;
  body?: unknown;
  /** The body as text, where it has to stay as somebody has written it. */
  bodyText?: string;
};

/** The words as one line that a POSIX shell reads as just these words. */
export function shellLine(words: string[]): string {
  return words.map(quoted).join(" ");
}

/** Words that a command takes by their places, behind its options: what begins with a dash is none of those. */
export function operands(...words: string[]): string[] {
  return words.some((word) => word.startsWith("-")) ? ["--", ...words] : words;
}

/** The request as a line for curl; it reads the token from where the command line does. */
export function curlLine(command: Command, origin: string): string {
  const words = ["curl", "--fail-with-body"];
  if (command.method !== "GET") words.push("-X", command.method);
  const head = `${shellLine(words)} -H "Authorization: Bearer $PITSTOP_TOKEN"`;
  const text = command.bodyText ?? JSON.stringify(command.body);
  const body = text === undefined ? [] : ["-H", "Content-Type: application/json", "-d", text];
  return `${head} ${shellLine([...body, origin + command.path])}`;
}

/** The path of a route, with names in it that may hold any sign. */
export function pathTo(...parts: string[]): string {
  return `/api/v1/${parts.map(encodeURIComponent).join("/")}`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
