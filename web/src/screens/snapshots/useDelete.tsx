import { Text } from "@mantine/core";
import { answered, api, type Snapshot } from "../../api/client";
import { bytes } from "../../logic/format";
import { confirm } from "../../parts/confirm";
import { useAction } from "../../parts/useAction";

/** Removes snapshots, each after one question that names what goes; the server refuses while a job needs it. */
export function useDelete(onDeleted?: () => void) {
  const deletion = useAction({
    mutationFn: (snapshot: Snapshot) =>
      answered(api.DELETE("/api/v1/snapshots/{name}", { params: { path: { name: snapshot.name } } })),
    onSuccess: onDeleted,
  });
  const ask = (snapshot: Snapshot) =>
    confirm({
      title: "Delete this snapshot?",
      children: (
        <Text className="breaks">
          Snapshot <b>{snapshot.name}</b> of job {snapshot.job_name ?? snapshot.job_id}: {bytes(snapshot.bytes)} of
          saved state are removed, and no job can start from it any more. This cannot be undone.
        </Text>
      ),
      does: "Delete the snapshot",
      keeps: "Keep it",
      onConfirm: () => deletion.mutate(snapshot),
    });
  return { ask, deletion };
}
