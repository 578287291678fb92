import { Button, Center, Code, Loader, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { answered, api, onSignedOut, ProblemError } from "../api/client";
import { follow } from "../api/live";
import { keys, useMe } from "../api/queries";
import { keep, onOtherTab } from "../api/session";
import { ProblemAlert } from "../parts/Trouble";
import { useAction } from "../parts/useAction";

/** The page for who has signed in; a form for everybody else. */
export function SignedIn({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const me = useMe();
  const nobody = me.error instanceof ProblemError && me.error.status === 401;
  const somebody = me.data !== undefined && !nobody;
  useEffect(() => onSignedOut(() => void client.resetQueries({ queryKey: keys.me })), [client]);
  useEffect(() => onOtherTab(() => void client.resetQueries({ queryKey: keys.me })), [client]);
  useEffect(() => (somebody ? follow(client) : undefined), [client, somebody]);
  if (somebody) return <>{children}</>;
  if (nobody) return <SignInForm />;
  return (
    <Center mih="100dvh" p="md">
      {me.error ? (
        <ProblemAlert error={me.error} retry={() => void me.refetch()} />
      ) : (
        <Loader role="status" aria-label="Looking who you are" />
      )}
    </Center>
  );
}

function SignInForm() {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const { mutate, isPending, error } = useAction({
    mutationFn: () => answered(api.POST("/sign-in", { body: { token } })),
    onSuccess: ({ key }) => {
      keep(key);
      return client.resetQueries();
    },
  });
  const signIn = (event: FormEvent) => {
    event.preventDefault();
    mutate();
  };
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder p="xl" w={420} maw="100%">
        <form onSubmit={signIn}>
          <Stack>
            <Title order={1} size="h3">
              Sign in to Pitstop
            </Title>
            <PasswordInput
              label="Token"
              description="It stands in the file 'token' of the server's data folder."
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              autoComplete="current-password"
              required
              data-autofocus
            />
            <Button type="submit" loading={isPending}>
              Sign in
            </Button>
            <Text size="sm" c="dimmed">
              <Code>pitstop ui</Code> opens this page signed in already.
            </Text>
            {error !== null && <ProblemAlert error={error} />}
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}
