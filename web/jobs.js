// Files go in; each is sent and followed through ingest until it is on the shelf, or shows why it is not.

import * as api from "./api.js";
import { announce, byId, count, show, size } from "./dom.js";
import { house, lost } from "./house.js";
import { startIntake } from "./intake.js";
import { drawRow, failed } from "./press.js";

/** Files sent at the same time, and event streams kept open at the same time: a browser has six connections to a server. */
const SENDING = 2;
const LISTENING = 2;
/** The jobs are also asked for at this pace while any is unfinished: the others' streams are not open. Milliseconds. */
const PACE = 4000;

/** Sent again, a file of a kind that is not read is turned away again. */
const HOPELESS = "UnsupportedType";

const FINAL = new Set(["done", "failed", "cancelled"]);

/** Everything in the press, by key: {key, name, file, job, state, error, abort, node}. Insertion order is display order. */
const press = new Map();
let serial = 0;
const streams = new Map();
let queue = [];
let sending = 0;
let timer = null;
let arrived = () => {};

// --- what comes in

/** Put files in the queue: [{file, name}]. */
function take(files) {
  for (const { file, name } of files) {
    const entry = { key: `sent ${(serial += 1)}`, name, file, collection: house.collection, replace: byId("replace").checked, state: "waiting" };
    press.set(entry.key, entry);
    const limit = house.model && house.model.limits && house.model.limits.file_bytes;
    if (limit && file.size > limit) Object.assign(entry, { state: "refused", error: `The file has ${size(file.size)}; at most ${size(limit)} are taken.`, final: true });
    else queue.push(entry);
    draw(entry);
  }
  announce(`${count(files.length, "file")} taken in`);
  pump();
}

function pump() {
  while (sending < SENDING && queue.length) sendOne(queue.shift());
  summary();
}

async function sendOne(entry) {
  sending += 1;
  entry.state = "sending";
  entry.abort = new AbortController();
  draw(entry);
  try {
    adopt(entry, await api.upload(entry.file, entry.name, entry.collection, entry.replace, entry.abort.signal));
  } catch (error) {
    if (error.name === "AbortError") forget(entry);
    else {
      lost(error);
      Object.assign(entry, { state: "refused", error: error.message, final: error.type === HOPELESS });
      draw(entry);
      announce(`${entry.name} was not taken: ${error.message}`);
    }
  }
  sending -= 1;
  listen();
  pump();
}

// --- what becomes of it

/** The entry's job, as the server tells it now. */
function adopt(entry, job) {
  const before = entry.state;
  entry.job = job;
  entry.name = job.name;
  entry.state = job.state;
  entry.error = job.error;
  entry.final = job.state === "failed" && job.detail?.type === HOPELESS;
  if (job.state === "done") {
    forget(entry);
    if (before !== "done") {
      announce(`${job.name} is on the shelf`);
      arrived(job);
    }
    return;
  }
  if (job.state === "cancelled") {
    forget(entry);
    announce(`${job.name} was cancelled`);
    return;
  }
  if (job.state === "failed" && before !== "failed") announce(`${job.name} failed: ${job.error}`);
  draw(entry);
}

const unfinished = () => [...press.values()].filter((entry) => entry.job && !FINAL.has(entry.job.state));

/** Keep streams open for the jobs that run or come next, and ask for the list at a slow pace for the rest. */
function listen() {
  const open = unfinished().sort((a, b) => Number(b.job.state === "running") - Number(a.job.state === "running"));
  for (const entry of open) {
    if (streams.size >= LISTENING) break;
    if (!streams.has(entry.job.id)) follow(entry);
  }
  pace();
  summary();
}

function pace() {
  if (timer !== null || !unfinished().length) return;
  timer = setTimeout(() => {
    timer = null;
    loadJobs();
  }, PACE);
}

async function follow(entry) {
  const { id } = entry.job;
  const controller = new AbortController();
  streams.set(id, controller);
  let broken = false;
  try {
    for await (const job of api.jobEvents(id, controller.signal)) {
      if (press.get(entry.key) === entry) adopt(entry, job);
    }
  } catch (error) {
    broken = true;
    if (error.name !== "AbortError") lost(error);
  }
  streams.delete(id);
  // A stream that ended early is not opened again at once: the slow pace finds out what became of its job.
  if (broken || !FINAL.has(entry.job.state)) pace();
  else listen();
}

/** Ask for the collection's jobs and show those that are under way or have failed. */
export async function loadJobs() {
  const asked = house.collection;
  let list;
  try {
    list = await api.jobs(asked);
  } catch (error) {
    if (error instanceof api.ApiError && error.status === 404) list = [];
    else {
      // When the server is back, the whole page is loaded anew.
      if (!lost(error)) pace();
      return;
    }
  }
  if (asked !== house.collection) return;
  const known = new Map([...press.values()].filter((entry) => entry.job).map((entry) => [entry.job.id, entry]));
  for (const job of list.reverse()) {
    const entry = known.get(job.id);
    if (entry) adopt(entry, job);
    else if (!FINAL.has(job.state) || (job.state === "failed" && !dismissed().has(job.id))) {
      const found = { key: job.id, name: job.name, collection: job.collection, state: "", job };
      press.set(found.key, found);
      // What failed before this visit is shown, not announced.
      found.state = job.state;
      adopt(found, job);
    }
  }
  listen();
}

// --- what a person can do about it

async function cancel(entry) {
  if (!entry.job) {
    queue = queue.filter((other) => other !== entry);
    if (entry.state === "sending") entry.abort.abort();
    else forget(entry);
    return;
  }
  await act(entry, api.cancel);
}

async function retry(entry) {
  if (!entry.job || !entry.job.id) {
    Object.assign(entry, { state: "waiting", error: "", job: null });
    queue.push(entry);
    draw(entry);
    pump();
    return;
  }
  await act(entry, api.retry);
  listen();
}

async function act(entry, what) {
  const { id } = entry.job;
  try {
    const job = await what(id);
    // Tried again under another id, the old failure is over.
    if (job.id !== id) putAway(id);
    adopt(entry, job);
  } catch (error) {
    if (lost(error)) return;
    entry.trouble = error.message;
    draw(entry);
    entry.trouble = "";
  }
}

/** Failures that were put away stay away, for as long as the tab is open. */
function dismissed() {
  return new Set(JSON.parse(sessionStorage.getItem("quire-put-away") || "[]"));
}

function putAway(id) {
  sessionStorage.setItem("quire-put-away", JSON.stringify([...dismissed().add(id)]));
}

function dismiss(entry) {
  if (entry.job && entry.job.id) {
    putAway(entry.job.id);
    // The server keeps a failed upload for another try; nobody wants one any more.
    api.cancel(entry.job.id).catch(() => {});
  }
  forget(entry);
}

function forget(entry) {
  // A row that held the focus must not drop it into nowhere.
  const held = entry.node && entry.node.contains(document.activeElement);
  press.delete(entry.key);
  entry.node?.remove();
  if (held) (byId("press-list").querySelector("button") || byId("shelf-title")).focus();
  summary();
}

// --- how it looks

function draw(entry) {
  drawRow(entry, { cancel, retry, dismiss });
  summary();
}

function summary() {
  const all = [...press.values()];
  const bad = all.filter(failed).length;
  show(byId("press"), all.length > 0);
  byId("press-count").textContent = [all.length - bad ? `${all.length - bad} to go` : "", bad ? `${bad} failed` : ""].filter(Boolean).join(", ");
  byId("shelf-going").textContent = [all.length - bad ? `adding ${all.length - bad}` : "", bad ? `${bad} failed` : ""].filter(Boolean).join(", ");
  show(byId("press-clear"), bad > 1);
}

/** Another collection was chosen: its press is another press. What is still to be sent is sent, to the collection it was meant for. */
export function clearPress() {
  for (const controller of streams.values()) controller.abort();
  for (const entry of [...press.values()]) if (entry.job || failed(entry)) forget(entry);
}

/** `onArrival` is told each job that put a document on the shelf. */
export function startPress(onArrival) {
  arrived = onArrival;
  startIntake(take);
  byId("press-clear").addEventListener("click", () => { for (const entry of [...press.values()].filter(failed)) dismiss(entry); });
}
