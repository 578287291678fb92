import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Button,
  Group,
  Kbd,
  Menu,
  NavLink,
  ScrollArea,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  IconBolt,
  IconBook,
  IconDatabase,
  IconHome,
  IconLogout,
  IconMap2,
  IconMoon,
  IconSearch,
  IconServer2,
  IconSun,
  IconTerminal2,
  IconUser,
} from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { api } from "../api/client";
import { useConnection } from "../api/live";
import { useCluster, useMe } from "../api/queries";
import { keep } from "../api/session";
import { SIGNAL } from "../parts/theme";
import { openPalette, Palette } from "./Palette";
import { useTitle } from "./useTitle";

const PLACES: { to: "/" | "/jobs" | "/snapshots" | "/maps" | "/sql" | "/cluster"; label: string; icon: ReactNode }[] = [
  { to: "/", label: "Overview", icon: <IconHome size={18} /> },
  { to: "/jobs", label: "Jobs", icon: <IconBolt size={18} /> },
  { to: "/snapshots", label: "Snapshots", icon: <IconDatabase size={18} /> },
  { to: "/maps", label: "Maps", icon: <IconMap2 size={18} /> },
  { to: "/sql", label: "SQL", icon: <IconTerminal2 size={18} /> },
  { to: "/cluster", label: "Cluster", icon: <IconServer2 size={18} /> },
];

/** What is around every screen: where one can go, whether what one sees is live, and who one is. */
export function Shell() {
  const [open, { toggle, close }] = useDisclosure(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  useTitle(path);
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    close();
    // Who uses the keyboard goes on in what is new, not in the menu.
    document.getElementById("content")?.focus({ preventScroll: true });
  }, [path, close]);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 190, breakpoint: "sm", collapsed: { mobile: !open } }}
      footer={{ height: 30 }}
      padding="md"
    >
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap" gap="xs">
            <Burger opened={open} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" aria-expanded={open} />
            <img src="/assets/icon.svg" alt="" width={26} height={26} />
            <Text fw={700}>Pitstop</Text>
          </Group>
          <Group wrap="nowrap" gap="xs">
            <Button
              variant="default"
              size="xs"
              leftSection={<IconSearch size={14} />}
              rightSection={<Kbd size="xs">Ctrl K</Kbd>}
              onClick={openPalette}
              visibleFrom="sm"
            >
              Find or do
            </Button>
            <ActionIcon variant="default" hiddenFrom="sm" aria-label="Find or do" onClick={openPalette}>
              <IconSearch size={16} />
            </ActionIcon>
            <SchemeButton />
            <Who />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Places">
        <ScrollArea>
          {PLACES.map((place) => {
            const here = place.to === "/" ? path === "/" : path.startsWith(place.to);
            return (
              <NavLink
                key={place.to}
                component={Link}
                to={place.to}
                label={place.label}
                leftSection={place.icon}
                active={here}
                aria-current={here ? "page" : undefined}
                variant="filled"
              />
            );
          })}
          <NavLink
            href="/docs/"
            target="_blank"
            rel="noreferrer"
            label="Documentation"
            leftSection={<IconBook size={18} />}
          />
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Outlet />
      </AppShell.Main>
      <AppShell.Footer>
        <Footer />
      </AppShell.Footer>
      <Palette />
    </AppShell>
  );
}

function SchemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  return (
    <ActionIcon
      variant="default"
      aria-label={dark ? "Light colours" : "Dark colours"}
      onClick={() => setColorScheme(dark ? "light" : "dark")}
    >
      {dark ? <IconSun size={16} /> : <IconMoon size={16} />}
    </ActionIcon>
  );
}

function Who() {
  const me = useMe().data;
  const client = useQueryClient();
  const signOut = async () => {
    await api.POST("/sign-out");
    keep(null);
    await client.resetQueries();
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" aria-label={`Signed in as ${me?.role ?? "somebody"}`}>
          <IconUser size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {me?.role === "viewer" ? "Viewer: looks at everything, changes nothing" : "Operator: may do everything"}
        </Menu.Label>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const WORDS = {
  live: { text: "Connected", color: SIGNAL.good },
  connecting: { text: "Connecting…", color: SIGNAL.quiet },
  lost: { text: "Connection lost: trying again…", color: SIGNAL.bad },
};

function Footer() {
  const connection = WORDS[useConnection()];
  const cluster = useCluster().data;
  return (
    <Group h="100%" px="md" gap="md" wrap="nowrap" fz="xs">
      {/* Where there is no room for all, the connection is what has to be read. */}
      <Badge size="sm" color={connection.color} radius="sm" tt="none" role="status" data-connection flex="none">
        {connection.text}
      </Badge>
      {cluster && (
        <Text fz="xs" c="dimmed" truncate>
          Cluster {cluster.state} · {cluster.size} {cluster.size === 1 ? "member" : "members"}
          <Text span inherit visibleFrom="xs">
            {" "}
            · Pitstop {cluster.version}
          </Text>
        </Text>
      )}
    </Group>
  );
}
