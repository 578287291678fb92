/** What the screen asks of a job; each answers when it is done. */
import { useEffect, useRef } from "react";
import { answered, api } from "../../../api/client";
import { tellProblem } from "../../../parts/confirm";
import { useAction } from "../../../parts/useAction";
import type { PlainVerb } from "../commands";

const CALLS = {
  suspend: (path: { job: string }) => api.POST("/api/v1/jobs/{job}/suspend", { params: { path } }),
  resume: (path: { job: string }) => api.POST("/api/v1/jobs/{job}/resume", { params: { path } }),
  restart: (path: { job: string }) => api.POST("/api/v1/jobs/{job}/restart", { params: { path } }),
  cancel: (path: { job: string }) => api.POST("/api/v1/jobs/{job}/cancel", { params: { path } }),
  rollback: (path: { job: string }) => api.POST("/api/v1/jobs/{job}/rollback", { params: { path } }),
  discard: (path: { job: string }) => api.POST("/api/v1/jobs/{job}/discard", { params: { path } }),
};

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
  return answered(CALLS[verb]({ job }) as Promise<{ data?: unknown }>);
}
