/** The key of the session: the page keeps it for its origin alone, and sends it with each request. The cookie, which browsers
 * send to every port of a machine, is worth nothing without it. */

const HEADER = "Pitstop-Session-Key";
const NAME = "pitstop-session-key";
/** How a link that signs in hands the key over: behind the `#` of the address, which no browser sends to anybody. */
const IN_ADDRESS = /^#session-key=([\w-]+)$/;

/** A server that takes longer to say whose the key is keeps the page waiting no more. */
const LONGEST_MS = 5_000;

/** For a browser whose storage is closed to the page: then each tab has to sign in. */
let inMemory: string | null = null;

function kept(): string | null {
  try {
    return window.localStorage.getItem(NAME);
  } catch {
    return inMemory;
  }
}

/** From now on requests carry this key; null: none. Other tabs of the origin read the same. */
export function keep(key: string | null): void {
  inMemory = key;
  try {
    if (key === null) window.localStorage.removeItem(NAME);
    else window.localStorage.setItem(NAME, key);
  } catch {
    // It stays in memory.
  }
}

/** The request, with the key if there is one. */
export function withKey(request: Request, key: string | null = kept()): Request {
  if (key !== null) request.headers.set(HEADER, key);
  return request;
}

/** Take the key out of the address to which a link has led. A link of a stranger, whose key is wrong, ends no session. */
export async function takeFromAddress(): Promise<void> {
  const key = IN_ADDRESS.exec(window.location.hash)?.[1];
  if (key === undefined) return;
  window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
  if (kept() !== null) {
    const me = new Request(`${window.location.origin}/api/v1/me`, {
      credentials: "same-origin",
      signal: AbortSignal.timeout(LONGEST_MS),
    });
    const answer = await fetch(withKey(me, key)).catch(() => null);
    if (answer?.status === 401) return;
  }
  keep(key);
}

/** Call `listener` whenever another tab has signed in or out; returns what ends that. */
export function onOtherTab(listener: () => void): () => void {
  const hear = (event: StorageEvent) => {
    if (event.key === NAME || event.key === null) listener();
  };
  window.addEventListener("storage", hear);
  return () => window.removeEventListener("storage", hear);
}
