/** A journal, page by page. */
import { answered, answeredExactly, api } from "../../../api/client";
import type { Page } from "./tail";

function params(map: string, after: number, limit: number) {
  return { path: { name: map }, query: { after, limit } };
}

/** With values to the last digit, for who reads them. */
export function exactPage(map: string, after: number, limit: number): Promise<Page> {
  const asked = { params: params(map, after, limit), parseAs: "text" } as const;
  return answeredExactly(api.GET("/api/v1/maps/{name}/journal", asked));
}

/** With numbers as JavaScript has them: what is drawn needs no more, and is read faster. */
export function plainPage(map: string, after: number, limit: number): Promise<Page> {
  return answered(api.GET("/api/v1/maps/{name}/journal", { params: params(map, after, limit) }));
}
