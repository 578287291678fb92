/** What is wrong, marked in the editor until its text is another one. */
import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

export const markFault = StateEffect.define<{ from: number; to: number } | null>();

export const faultMark = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, change) {
    let next = change.docChanged ? Decoration.none : marks;
    for (const effect of change.effects) {
      if (effect.is(markFault)) next = effect.value ? marked(effect.value, change.state.doc.length) : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function marked({ from, to }: { from: number; to: number }, length: number): DecorationSet {
  const begin = Math.min(from, length);
  const end = Math.min(Math.max(to, begin), length);
  // The end of the text has no letter: there the one before it is marked.
  const first = begin === end ? Math.max(0, begin - 1) : begin;
  if (first === end) return Decoration.none;
  return Decoration.set(Decoration.mark({ class: "cm-fault" }).range(first, end));
}
