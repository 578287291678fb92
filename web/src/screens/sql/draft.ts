/** What stands in the editor, kept over leaving the screen and loading the page anew; each window has its own. */

const KEY = "pitstop.sql.draft";
const MOST_LETTERS = 1_000_000;

export function keptDraft(): string {
  try {
    return window.sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

export function keepDraft(text: string) {
  try {
    window.sessionStorage.setItem(KEY, text.slice(0, MOST_LETTERS));
  } catch {
    // No room, or not allowed: then the text goes with the screen.
  }
}
