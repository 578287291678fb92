/** Our SQL as the editor knows it: colours, comments, and what is offered. */
import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { type Kind, type Names, offersAt } from "./completion";
import { FUNCTIONS, TYPES, WORDS } from "./words";

const lower = (words: string[]) => words.join(" ").toLowerCase();
const dialect = SQLDialect.define({
  keywords: lower(WORDS),
  types: lower(TYPES),
  builtin: lower(FUNCTIONS),
  backslashEscapes: false,
  identifierQuotes: '"',
});

// Colours stand in the style sheet of the screen: there they are other ones in the dark.
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--sql-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--sql-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--sql-number)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--sql-type)" },
  { tag: tags.comment, color: "var(--sql-comment)", fontStyle: "italic" },
]);

export const language = [sql({ dialect }).language, syntaxHighlighting(colours)];

const ICONS: Record<Kind, string> = {
  keyword: "keyword",
  type: "type",
  function: "function",
  table: "class",
  column: "property",
  job: "variable",
  snapshot: "constant",
};

/** Asks for what may stand at the cursor. */
export function completing(names: { readonly current: Names }) {
  return (context: CompletionContext): CompletionResult | null => {
    const all = context.state.doc.toString();
    const found = offersAt(all.slice(0, context.pos), all, names.current);
    if (!found || (!found.offers.length && !context.explicit)) return null;
    if (!found.typed && !context.explicit && !/[.\s(]$/.test(all.slice(0, context.pos))) return null;
    return {
      from: context.pos - found.typed,
      options: found.offers.map(({ text, kind, of }) => ({
        label: text,
        type: ICONS[kind],
        detail: of ?? (kind === "keyword" ? undefined : kind),
        // Names of what is there come before words of the language.
        boost: kind === "column" ? 3 : kind === "keyword" ? 0 : kind === "type" || kind === "function" ? -1 : 2,
      })),
      validFor: /^(?:"(?:[^"]|"")*"?|\w*)$/,
    };
  };
}
