import { ScrollArea, Text, UnstyledButton } from "@mantine/core";
import type { JobGraph } from "../../api/client";
import classes from "./graph.module.css";
import type { StageFacts } from "./looks";
import { readsOf, sentenceOf } from "./words";

type Props = {
  graph: JobGraph;
  facts: Record<string, StageFacts>;
  onSelect?: (stage: string) => void;
  label: string;
  height: number;
  why: string;
};

/** A pipeline as a list: for who cannot be shown the picture, and of more stages than a picture can show. */
export function StageList({ graph, facts, onSelect, label, height, why }: Props) {
  const reads = readsOf(graph);
  return (
    <section className={classes.box} aria-label={label} style={{ height }}>
      <ScrollArea h={height} viewportProps={{ tabIndex: 0, "aria-label": label, role: "group" }}>
        <Text size="sm" c="dimmed" p="xs">
          {why}
        </Text>
        <ul className={classes.list}>
          {graph.nodes.map((stage) => {
            const sentence = sentenceOf(stage, reads.get(stage.name) ?? [], facts[stage.name]);
            return (
              <li key={stage.name}>
                {onSelect ? (
                  <UnstyledButton className={classes.item} onClick={() => onSelect(stage.name)}>
                    {sentence}
                  </UnstyledButton>
                ) : (
                  <span className={classes.item}>{sentence}</span>
                )}
              </li>
            );
          })}
        </ul>
      </ScrollArea>
    </section>
  );
}
