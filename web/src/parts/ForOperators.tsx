import { Alert, Fieldset, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { useViewerRefusal } from "./viewer";

/** Fields for something that only an operator may send: a viewer finds them closed, with the reason once above them. */
export function ForOperators({ children }: { children: ReactNode }) {
  const refused = useViewerRefusal();
  return (
    <Fieldset variant="unstyled" disabled={refused !== null} miw={0}>
      <Stack>
        {refused && (
          <Alert variant="outline" color="gray" title="Only an operator may send this">
            {refused}
          </Alert>
        )}
        {children}
      </Stack>
    </Fieldset>
  );
}
