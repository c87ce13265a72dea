// Files go in; each is sent, a few at a time, until the server has it or has turned it away. A busy server is waited for, an absent one too.

import * as api from "./api.js";
import { lost } from "./house.js";

/** Files sent at the same time: a browser has six connections to a server, and answers need some. */
const SENDING = 3;
const SECOND = 1000;

let queue = [];
let under = 0;
/** What the press does with an entry that changed, that the server has taken (its job), or that is no longer wanted. */
let acts = { changed: () => {}, taken: () => {}, gone: () => {} };

/** Put entries ({file, name, collection, replace}) behind those that wait. */
export function enqueue(entries) {
  for (const entry of entries) {
    // Under one name a file is taken in once, however often it has to be sent.
    entry.once ??= [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    Object.assign(entry, { state: "waiting", error: "", trouble: "", final: false, job: null });
    queue.push(entry);
    acts.changed(entry);
  }
  pump();
}

function pump() {
  while (under < SENDING && queue.length) sendOne(queue.shift());
}

async function sendOne(entry) {
  under += 1;
  entry.abort = new AbortController();
  try {
    Object.assign(entry, { state: "sending", sent: 0 });
    acts.changed(entry);
    const job = await api.upload(entry, (share) => { entry.sent = share; acts.changed(entry); }, entry.abort.signal);
    acts.taken(entry, job);
  } catch (error) {
    if (error.name === "AbortError") acts.gone(entry);
    else if (error.later) await hold(entry, error);
    else if (lost(error)) {
      entry.state = "held";
      entry.until = null;
      acts.changed(entry);
    } else {
      Object.assign(entry, { state: "refused", error: error.message, final: error.status === 415 || error.status === 413, kind: error.type });
      acts.changed(entry);
    }
  }
  under -= 1;
  pump();
}

/** Wait as long as the server asks, then stand in front of those that wait. */
async function hold(entry, error) {
  entry.state = "held";
  for (let left = Math.ceil(error.wait ?? 2); left > 0; left -= 1) {
    entry.until = left;
    acts.changed(entry);
    await new Promise((go) => { setTimeout(go, SECOND); });
    if (entry.abort.signal.aborted) return acts.gone(entry);
  }
  entry.state = "waiting";
  queue.unshift(entry);
  return acts.changed(entry);
}

/** The server is back: what it had not taken goes again. */
export function resume(entries) {
  const held = entries.filter((entry) => entry.state === "held" && entry.until === null);
  for (const entry of held) entry.state = "waiting";
  queue.push(...held);
  pump();
}

/** Do not send it, or stop sending it. */
export function unsend(entry) {
  const waits = queue.includes(entry) || (entry.state === "held" && entry.until === null);
  queue = queue.filter((other) => other !== entry);
  if (waits) acts.gone(entry);
  else entry.abort.abort();
}

export function startSending(given) {
  acts = given;
  // A file that was chosen here and not sent yet is known to nobody else.
  window.addEventListener("beforeunload", (event) => { if (under || queue.length) event.preventDefault(); });
}
