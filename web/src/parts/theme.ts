import { type CSSVariablesResolver, createTheme } from "@mantine/core";

/** Colours of what goes well, needs a look, or does not: white words on them have a contrast of more than 4.5 to 1. */
export const SIGNAL = {
  good: "#1f6f3a",
  busy: "#1864ab",
  attention: "#b3470a",
  bad: "#b02525",
  quiet: "#495057",
  done: "#08655b",
};

export const theme = createTheme({
  primaryColor: "cyan",
  primaryShade: 9,
  autoContrast: true,
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, monospace",
  defaultRadius: "md",
  cursorType: "pointer",
  components: {
    Loader: { defaultProps: { role: "status" } },
    Tooltip: { defaultProps: { withArrow: true, events: { hover: true, focus: true, touch: true } } },
    Modal: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    Drawer: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    // The page has one header: that of a dialog is none of the page's.
    ModalHeader: { defaultProps: { role: "presentation" } },
    DrawerHeader: { defaultProps: { role: "presentation" } },
  },
});

/** Mantine's faint text is too faint to read (WCAG 2.2, 1.4.3): these have a contrast of more than 4.5 to 1. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#495057",
    "--mantine-color-placeholder": "#5c636a",
    "--mantine-color-anchor": "#0b6272",
    "--mantine-color-error": "#c92a2a",
  },
  dark: {
    "--mantine-color-dimmed": "#b4b8bd",
    "--mantine-color-placeholder": "#a6a9ad",
    "--mantine-color-anchor": "#66d9e8",
    "--mantine-color-error": "#ff8787",
  },
});
