/** Parts of the page that are loaded when they are first needed, from a server that may be away just then. */

const PAUSE_MS = 1000;
/** A part that a server which answers does not give is one of another release: the page has to be loaded anew. */
const TRIES = 5;

/** What `load` gives. While the server is away this waits; `back` resolves once it answers. */
export async function patiently<T>(load: () => Promise<T>, back: () => Promise<void>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await load();
    } catch (error) {
      if (tries === TRIES) throw error;
      // That a server has gone is noticed a little later than that it does not give a part.
      await new Promise((done) => setTimeout(done, PAUSE_MS));
      await back();
    }
  }
}
