import { beforeEach, expect, test, vi } from "vitest";

const KEY = "a-key_of-a-session";
let stored: Map<string, string>;
let address: { hash: string; pathname: string; search: string; origin: string };
let shown: string[];

async function session() {
  vi.resetModules();
  return import("./session");
}

function headerOf(request: Request) {
  return request.headers.get("Pitstop-Session-Key");
}

const asked = () => new Request("http://h/api/v1/jobs");

beforeEach(() => {
  stored = new Map();
  shown = [];
  address = { hash: "", pathname: "/", search: "", origin: "http://h" };
  const localStorage = {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  };
  const history = { state: null, replaceState: (_: unknown, __: string, path: string) => shown.push(path) };
  vi.stubGlobal("window", { localStorage, location: address, history });
});

test("each request carries the key that is kept, also by a tab that was opened later, until it is taken back", async () => {
  const one = await session();
  expect(headerOf(one.withKey(asked()))).toBeNull();
  one.keep(KEY);
  const other = await session();
  expect(headerOf(other.withKey(asked()))).toBe(KEY);
  other.keep(null);
  expect(headerOf(one.withKey(asked()))).toBeNull();
});

test("the key of a link is taken out of the address", async () => {
  address.hash = `#session-key=${KEY}`;
  const { takeFromAddress, withKey } = await session();
  await takeFromAddress();
  expect(shown).toEqual(["/"]);
  expect(headerOf(withKey(asked()))).toBe(KEY);
});

test("the key of a stranger's link does not end the session that there is", async () => {
  for (const [status, kept] of [
    [401, KEY],
    [200, "another"],
  ] as const) {
    const { keep, takeFromAddress, withKey } = await session();
    keep(KEY);
    address.hash = "#session-key=another";
    const fetched = vi.fn(async (_: Request) => new Response("{}", { status }));
    vi.stubGlobal("fetch", fetched);
    await takeFromAddress();
    expect(headerOf(fetched.mock.calls[0]?.[0] as Request)).toBe("another");
    expect(headerOf(withKey(asked()))).toBe(kept);
  }
});

test("other fragments of addresses stay", async () => {
  address.hash = "#content";
  await (await session()).takeFromAddress();
  expect(shown).toEqual([]);
});

test("where the browser closes its storage the tab keeps the key", async () => {
  Object.defineProperty(window, "localStorage", {
    get: () => {
      throw new DOMException("closed", "SecurityError");
    },
  });
  const { keep, withKey } = await session();
  keep(KEY);
  expect(headerOf(withKey(asked()))).toBe(KEY);
});
