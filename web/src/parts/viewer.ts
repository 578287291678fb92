import { useMayAct } from "../api/queries";

/** Why who has signed in may not act; null if they may. */
export function useViewerRefusal(): string | null {
  return useMayAct() ? null : "You have signed in as a viewer: it may look at everything and change nothing.";
}
