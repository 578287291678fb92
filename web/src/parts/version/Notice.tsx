import { Alert, type AlertProps } from "@mantine/core";
import classes from "./update.module.css";

/** Something to know, with words in the colour of all words: coloured ones are hard to read. */
export function Notice(props: AlertProps) {
  return <Alert variant="outline" classNames={{ label: classes.noticeTitle, root: classes.linked }} {...props} />;
}
