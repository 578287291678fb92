/** What the screen asks of a job; each answers when it is done. */
import { useEffect, useRef } from "react";
import { answered, api } from "../../../api/client";
import type { PlainVerb } from "../../../logic/verbs";
import { tellProblem } from "../../../parts/confirm";
import { useAction } from "../../../parts/useAction";

/** Does something once it is asked to. A dialog that is open shows what went wrong; one that is closed has the page tell it. */
export function useAsked<T>(ask: () => Promise<T>, onDone?: (answer: T) => void) {
  const shown = useRef(false);
  useEffect(() => {
    shown.current = true;
    return () => {
      shown.current = false;
    };
  }, []);
  return useAction({
    mutationFn: ask,
    onSuccess: onDone,
    onError: (error) => {
      if (!shown.current) tellProblem(error);
    },
  });
}

/** A plain verb without a dialog. Jobs are named by their ids: a name may pass on to another job. */
export function usePlainVerb(job: string, verb: PlainVerb) {
  return useAction({ mutationFn: () => askPlain(job, verb), onError: tellProblem });
}

export function askPlain(job: string, verb: PlainVerb): Promise<unknown> {
  return answered(api.POST(`/api/v1/jobs/{job}/${verb}`, { params: { path: { job } } }));
}
