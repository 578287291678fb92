import { type UseMutationOptions, useMutation } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import { UnderWay } from "../logic/underWay";

type Options<T, V> = UseMutationOptions<T, Error, V> & { mutationFn: (asked: V) => Promise<T> };

/** Asks the server for something. As long as that is not answered, the same is not asked again: a double click asks once. */
export function useAction<T, V = void>(options: Options<T, V>) {
  const [way] = useState(() => new UnderWay());
  const mutation = useMutation<T, Error, V>({
    ...options,
    mutationFn: async (asked) => {
      try {
        const answer = await options.mutationFn(asked);
        way.end(nameOf(asked));
        return answer;
      } catch (error) {
        way.fail(nameOf(asked));
        throw error;
      }
    },
  });
  const { mutate: send } = mutation;
  const mutate = useCallback<typeof send>(
    (...asked) => {
      if (way.begin(nameOf(asked[0]))) send(...asked);
    },
    [way, send],
  );
  return { ...mutation, mutate };
}

function nameOf(asked: unknown): string {
  return JSON.stringify(asked) ?? "";
}
