import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";

/** What a snapshot holds; one of the same name that was taken later is another. */
export function useManifest(name: string | null, created: string | undefined) {
  return useQuery({
    queryKey: ["snapshot", name, "manifest", created],
    enabled: name !== null,
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/snapshots/{name}", { params: { path: { name: name ?? "" } }, signal })),
  });
}
