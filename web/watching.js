// One stream for all jobs is kept open for as long as the page is there; each change that the server tells comes out.

import * as api from "./api.js";
import { isReady } from "./house.js";

/** Milliseconds until the jobs that nothing was heard of are named, and until a stream that ended is opened again. */
const UNHEARD = 2500;
const REOPEN = 1000;

let stream = null;

/**
 * Listen, unless that is done already. `heard` is told each job; `unheard`, once behind every opening, the ids that the stream has told of:
 * what ended while nobody listened is not told again. `trouble` is told why the stream cannot be had.
 */
export async function watch(acts) {
  if (stream) return;
  const mine = {};
  stream = mine;
  let pause = REOPEN;
  const ids = new Set();
  try {
    const opened = () => setTimeout(() => { if (stream === mine) acts.unheard(ids); }, UNHEARD);
    for await (const job of api.jobEvents(opened)) {
      ids.add(job.id);
      acts.heard(job);
    }
  } catch (error) {
    acts.trouble(error);
    // A server that says when to come back is not asked before.
    if (error.later && error.wait !== null) pause = Math.max(REOPEN, 1000 * error.wait);
    if (error.status === 401 || error.status === 403) {
      // The door is locked, or this key does not open it, and stays so until somebody has another; then everything is loaded anew.
      stream = null;
      return;
    }
  }
  stream = null;
  // While the server is away the banner waits for it; its return loads everything anew, this stream too.
  setTimeout(async () => { if (await isReady()) watch(acts); }, pause);
}
