import { answered, api } from "../../api/client";
import { fileName } from "./commands";

/** Takes the state of a stage out of a snapshot and gives it to the browser as a file. */
export async function download(snapshot: string, stage: string): Promise<void> {
  const content = await answered(
    api.GET("/api/v1/snapshots/{name}/stages/{stage}/state", {
      params: { path: { name: snapshot, stage } },
      parseAs: "blob",
    }),
  );
  const address = URL.createObjectURL(content as unknown as Blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName(snapshot, stage);
  link.click();
  URL.revokeObjectURL(address);
}
