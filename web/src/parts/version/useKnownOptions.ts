import { useQuery } from "@tanstack/react-query";
import { problemOf } from "../../api/client";
import { type OptionsRequest, optionsIn } from "./knownOptions";

/** The options that this request takes; the description is read once. */
export function useKnownOptions(request: OptionsRequest) {
  return useQuery({
    queryKey: ["openapi"],
    queryFn: async ({ signal }): Promise<unknown> => {
      const response = await fetch("/openapi.json", { signal });
      if (!response.ok) throw await problemOf(response);
      return response.json();
    },
    select: (description) => optionsIn(description, request),
    gcTime: Number.POSITIVE_INFINITY,
  });
}
