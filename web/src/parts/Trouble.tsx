import { Alert, Button, Center, Code, Loader, Stack, Text, Title } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { ProblemError } from "../api/client";

/** What went wrong, in the server's own sentence. */
export function ProblemAlert({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = error instanceof ProblemError ? error : null;
  const sentence = problem?.message ?? (error instanceof Error ? error.message : String(error));
  return (
    <Alert role="alert" color="red" variant="outline" icon={<IconAlertTriangle />} title={problem?.code ?? "Error"}>
      <Text style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{sentence}</Text>
      {retry && (
        <Button mt="xs" size="xs" variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </Alert>
  );
}

/** Nothing is there yet, and the command that changes that. */
export function Empty({ title, children, command }: { title: string; children?: ReactNode; command?: string }) {
  return (
    <Center mih={220} p="md">
      <Stack align="center" gap="sm" maw={560}>
        <Title order={2} size="h4">
          {title}
        </Title>
        {children && (
          <Text c="dimmed" ta="center" component="div">
            {children}
          </Text>
        )}
        {command && (
          <Code block style={{ maxWidth: "100%", overflowX: "auto" }} tabIndex={0}>
            {command}
          </Code>
        )}
      </Stack>
    </Center>
  );
}

/** What a query gives: its data, its error, or that it is on its way. Keeps its height, so that nothing jumps. */
export function Loaded<T>(props: {
  query: { data: T | undefined; error: unknown; refetch: () => unknown };
  height?: number;
  children: (data: T) => ReactNode;
}) {
  const { query, children, height = 200 } = props;
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <ProblemAlert error={query.error} retry={() => void query.refetch()} />;
  return (
    <Center mih={height}>
      <Loader role="status" aria-label="Loading" />
    </Center>
  );
}
