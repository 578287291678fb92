/** Text that is typed over a selection. */
import { EditorView } from "@codemirror/view";

/**
 * Puts it into the editor, and not into the page: there Chromium would wrap it in an element with a style of its own, to look like
 * what it replaces, and the server's policy forbids such styles.
 */
export const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    const { data, inputType, isComposing } = event;
    if (empty || inputType !== "insertText" || data === null || isComposing || view.state.readOnly) return false;
    event.preventDefault();
    const insert = () => view.state.update(view.state.replaceSelection(data), { userEvent: "input.type" });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handler) => handler(view, from, to, data, insert))) view.dispatch(insert());
    return true;
  },
});
