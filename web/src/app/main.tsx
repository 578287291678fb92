import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "./page.css";
import { MantineProvider } from "@mantine/core";
import { ModalsProvider } from "@mantine/modals";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { createRoot } from "react-dom/client";
import { newQueryClient } from "../api/queries";
import { takeFromAddress } from "../api/session";
import { theme, variables } from "../parts/theme";
import { router } from "./router";
import { SignedIn } from "./SignedIn";

// The server's policy lets no style into the page that does not know this number.
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
setNonce(nonce);

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no root");
await takeFromAddress(); // before the router looks at the address, and anything is asked
createRoot(root).render(
  <QueryClientProvider client={newQueryClient()}>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      getStyleNonce={() => nonce}
      defaultColorScheme="auto"
    >
      <ModalsProvider>
        <Notifications position="bottom-right" />
        <SignedIn>
          <RouterProvider router={router} />
        </SignedIn>
      </ModalsProvider>
    </MantineProvider>
  </QueryClientProvider>,
);
