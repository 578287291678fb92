import { acceptCompletion, autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { useComputedColorScheme } from "@mantine/core";
import { getNonce } from "get-nonce";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import type { Names } from "./completion";
import { completing, language } from "./language";
import { faultMark, markFault } from "./marks";
import classes from "./sql.module.css";
import { typedOver } from "./typing";

/** What the screen does with its editor. */
export type Writing = {
  text: () => string;
  write: (text: string) => void;
  /** What is to be run: the selection, or all; and where it begins. */
  chosen: () => { text: string; from: number };
  /** Marks a part; null marks none. */
  mark: (part: { from: number; to: number } | null) => void;
  goTo: (at: number) => void;
};

type Props = {
  ref: Ref<Writing>;
  initial: string;
  names: { readonly current: Names };
  onChange: (text: string) => void;
  onFocus: () => void;
  onRun: () => void;
  describedBy: string;
};

const look = EditorView.theme({
  "&": { backgroundColor: "var(--mantine-color-body)", color: "var(--mantine-color-text)", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", fontSize: "14px", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--mantine-color-text)" },
  ".cm-cursor": { borderLeftColor: "var(--mantine-color-text)" },
  ".cm-gutters": {
    backgroundColor: "var(--mantine-color-body)",
    color: "var(--mantine-color-dimmed)",
    borderRight: "1px solid var(--mantine-color-default-border)",
  },
  ".cm-placeholder": { color: "var(--mantine-color-placeholder)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--sql-selection)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--sql-selection)" },
  ".cm-fault": { textDecoration: "underline wavy var(--mantine-color-error)", textUnderlineOffset: "3px" },
  ".cm-tooltip": {
    backgroundColor: "var(--mantine-color-body)",
    color: "var(--mantine-color-text)",
    border: "1px solid var(--mantine-color-default-border)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mantine-font-family-monospace)", maxWidth: "90vw" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--mantine-primary-color-filled)",
    color: "var(--mantine-primary-color-contrast)",
  },
  ".cm-completionDetail": { fontStyle: "normal", color: "inherit", marginLeft: "12px" },
});

/** Where statements are written. Tab takes what is offered, and leaves the editor otherwise. */
export function Editor({ ref, initial, names, onChange, onFocus, onRun, describedBy }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const calls = useRef({ onChange, onFocus, onRun });
  calls.current = { onChange, onFocus, onRun };
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  const scheme = useRef(new Compartment());
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is made once, and told of what changes
  useEffect(() => {
    const made = new EditorView({
      parent: place.current ?? undefined,
      state: EditorState.create({
        doc: initial,
        extensions: [
          EditorView.cspNonce.of(getNonce() ?? ""),
          lineNumbers(),
          highlightSpecialChars(),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          language,
          faultMark,
          autocompletion({ override: [completing(names)], closeOnBlur: true }),
          placeholder("SELECT …"),
          typedOver,
          EditorView.lineWrapping,
          look,
          scheme.current.of(EditorView.theme({}, { dark })),
          EditorView.contentAttributes.of({
            "aria-label": "Statements",
            "aria-describedby": describedBy,
            spellcheck: "false",
            autocapitalize: "off",
            autocorrect: "off",
          }),
          Prec.highest(
            keymap.of([
              {
                key: "Mod-Enter",
                run: () => {
                  calls.current.onRun();
                  return true;
                },
              },
              { key: "Tab", run: acceptCompletion },
            ]),
          ),
          keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) calls.current.onChange(update.state.doc.toString());
            if (update.focusChanged && update.view.hasFocus) calls.current.onFocus();
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    view.current?.dispatch({ effects: scheme.current.reconfigure(EditorView.theme({}, { dark })) });
  }, [dark]);
  useImperativeHandle(ref, () => {
    const state = () => view.current?.state ?? EditorState.create({});
    return {
      text: () => state().doc.toString(),
      write: (text) => view.current?.dispatch({ changes: { from: 0, to: state().doc.length, insert: text } }),
      chosen: () => {
        const { from, to, empty } = state().selection.main;
        return empty ? { text: state().doc.toString(), from: 0 } : { text: state().sliceDoc(from, to), from };
      },
      mark: (part) => view.current?.dispatch({ effects: markFault.of(part) }),
      goTo: (at) => {
        const anchor = Math.min(at, state().doc.length);
        view.current?.dispatch({ selection: { anchor }, scrollIntoView: true });
        view.current?.focus();
      },
    };
  }, []);
  return <div ref={place} className={classes.editor} />;
}
