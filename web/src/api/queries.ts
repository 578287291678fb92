/** What the page reads, each list once: screens share them, and the stream of events keeps them up to date. */
import { QueryClient, useQuery } from "@tanstack/react-query";
import { answered, api, ProblemError } from "./client";

export const keys = {
  me: ["me"] as const,
  jobs: ["jobs"] as const,
  snapshots: ["snapshots"] as const,
  maps: ["maps"] as const,
  cluster: ["cluster"] as const,
  audit: ["audit"] as const,
  /** Everything of one job that no event carries: `["job", id, what]`. */
  job: (id: string, what: string, ...more: unknown[]) => ["job", id, what, ...more] as const,
};

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY, // events say what has changed
        refetchOnWindowFocus: false,
        retry: (count, error) =>
          count < 2 && !(error instanceof ProblemError && error.status >= 400 && error.status < 500),
      },
    },
  });
}

/** All jobs that are remembered, the newest first. */
export function useJobs() {
  return useQuery({
    queryKey: keys.jobs,
    queryFn: ({ signal }) => answered(api.GET("/api/v1/jobs", { params: { query: { all: true } }, signal })),
  });
}

export function useSnapshots() {
  return useQuery({
    queryKey: keys.snapshots,
    queryFn: ({ signal }) => answered(api.GET("/api/v1/snapshots", { signal })),
  });
}

export function useMaps() {
  return useQuery({ queryKey: keys.maps, queryFn: ({ signal }) => answered(api.GET("/api/v1/maps", { signal })) });
}

export function useCluster() {
  return useQuery({
    queryKey: keys.cluster,
    queryFn: ({ signal }) => answered(api.GET("/api/v1/cluster", { signal })),
  });
}

export function useMe() {
  return useQuery({
    queryKey: keys.me,
    queryFn: ({ signal }) => answered(api.GET("/api/v1/me", { signal })),
    retry: (count, error) => count < 5 && !(error instanceof ProblemError && error.status === 401),
  });
}

/** True if who has signed in may change things. */
export function useMayAct(): boolean {
  return useMe().data?.role === "operator";
}
