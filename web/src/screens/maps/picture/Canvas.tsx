import { Button } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { ProblemAlert } from "../../../parts/Trouble";
import { keyText } from "../keys";
import { ATTRIBUTION } from "./baseMap";
import type { Picture } from "./picture";
import classes from "./picture.module.css";
import type { Shown } from "./shown";
import { PictureView, type Settings } from "./view";

type Props = {
  picture: Picture;
  settings: Settings;
  shown: Shown;
  onSelect: (key: string | null) => void;
  /** What is told about the chosen object. */
  children: ReactNode;
};

/** The map itself. */
export function Canvas({ picture, settings, shown, onSelect, children }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const view = useRef<PictureView | null>(null);
  const latest = useRef({ settings, onSelect });
  latest.current = { settings, onSelect };
  const [error, setError] = useState<unknown>(null);
  const [tip, setTip] = useState<{ key: string; x: number; y: number } | null>(null);
  useEffect(() => {
    if (!element.current) return;
    const told = {
      pointed: (key: string | null, x: number, y: number) => setTip(key === null ? null : { key, x, y }),
      chosen: (key: string | null) => latest.current.onSelect(key),
    };
    try {
      view.current = new PictureView(element.current, picture, latest.current.settings, told);
    } catch (problem) {
      setError(problem);
    }
    return () => {
      view.current?.destroy();
      view.current = null;
    };
  }, [picture]);
  useEffect(() => view.current?.set(settings), [settings]);
  if (error !== null) return <ProblemAlert error={error} />;
  return (
    <div className={classes.frame} aria-busy={shown.phase === "loading"}>
      <div ref={element} className={classes.map} data-picture />
      <Button className={classes.fit} size="compact-sm" variant="default" onClick={() => view.current?.fit()}>
        Show all
      </Button>
      {tip && (
        <div className={classes.tip} style={{ left: tip.x + 12, top: tip.y + 12 }}>
          {keyText(tip.key)}
        </div>
      )}
      <div className={classes.chosen}>{children}</div>
      <div className={classes.attribution}>{ATTRIBUTION}</div>
    </div>
  );
}
