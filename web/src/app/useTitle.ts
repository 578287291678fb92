import { useEffect } from "react";
import { useJobs } from "../api/queries";
import { jobNamed } from "../logic/jobNamed";
import { titleOf } from "../logic/title";

/** The name of the window says which screen it shows. */
export function useTitle(path: string) {
  const jobs = useJobs().data;
  const title = titleOf(path, (nameOrId) => jobNamed(jobs, nameOrId)?.name ?? nameOrId);
  useEffect(() => {
    document.title = title;
  }, [title]);
}
