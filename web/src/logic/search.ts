/** A search as a reader types it: words in any order, upper and lower case alike. */

/** The words of a query, in lower case. */
export function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Whether a text has all these words; words as `wordsOf` gives them. */
export function hasWords(text: string, words: string[]): boolean {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}
