// Files go in; each is sent and followed through ingest until it is on the shelf, or shows why it is not. One stream tells of all of them.

import * as api from "./api.js";
import { announce, byId, show } from "./dom.js";
import { count, figure, size } from "./figures.js";
import { house, lost } from "./house.js";
import { startIntake } from "./intake.js";
import { drawRow, failed, partly } from "./press.js";
import { enqueue, resume, startSending, unsend } from "./sending.js";
import { expect } from "./storage.js";
import { watch } from "./watching.js";

/** Sent again, a file of a kind that is not read is turned away again. */
const HOPELESS = "UnsupportedType";
const FINAL = new Set(["done", "failed", "cancelled"]);
/** Rows of files that wait, at most; the others are told as a number. */
const WAITING_ROWS = 8;
/** Milliseconds that a row says "ready". */
const READY = 6000;

/** Everything in the press, by key: {key, name, file, job, state, error, abort, node}. Insertion order is display order. */
const press = new Map();
let serial = 0;
let ready = 0;
let arrived = () => {};

const entries = () => [...press.values()];
const entryOf = (id) => entries().find((entry) => entry.job && entry.job.id === id);
const onItsWay = (entry) => !failed(entry) && entry.state !== "done";

// --- what comes in

/** Put files in the queue: [{file, name}]. */
function take(files) {
  const limit = house.model && house.model.limits && house.model.limits.file_bytes;
  const fit = [];
  for (const { file, name } of files) {
    const entry = { key: `sent ${(serial += 1)}`, name, file, collection: house.collection, replace: byId("replace").checked, state: "waiting" };
    press.set(entry.key, entry);
    if (limit && file.size > limit) {
      Object.assign(entry, { state: "refused", error: `The file has ${size(file.size)}; at most ${size(limit)} are taken.`, final: true });
      drawRow(entry, acts);
    } else fit.push(entry);
  }
  announce(`${count(files.length, "file")} taken in`);
  enqueue(fit);
  summary();
}

/** The server has the file: from here on the stream tells of it. */
function taken(entry, job) {
  // A file refused at the door has no job to come back to; one that is known already came through the stream, before its own answer.
  const other = job.id && entryOf(job.id);
  const newer = other && other !== entry ? other.job : null;
  if (newer) forget(other);
  adopt(entry, job);
  if (newer) adopt(entry, newer);
}

// --- what becomes of it

/** The entry's job, as the server tells it now. */
function adopt(entry, job) {
  // What was asked for may arrive behind what the stream has told meanwhile.
  // As moments, not as words: "10:00:00Z" is a word behind "10:00:00.5Z".
  if (entry.job && entry.job.id === job.id && Date.parse(job.updated) < Date.parse(entry.job.updated)) return;
  const before = entry.state;
  // Wherever the reason is told, the name stands before it already.
  const named = `${job.name}: `;
  const error = job.error.startsWith(named) ? job.error.slice(named.length) : job.error;
  Object.assign(entry, { job, name: job.name, collection: job.collection, state: job.state, error, trouble: "" });
  entry.kind = job.detail && job.detail.type;
  entry.final = job.state === "failed" && entry.kind === HOPELESS;
  if (FINAL.has(job.state)) entry.stopping = false;
  if (job.state === "cancelled") {
    forget(entry);
    if (before !== "failed") announce(`${job.name} was cancelled`);
    return;
  }
  if (job.state === "done" && before !== "done") {
    ready += 1;
    announce(`${job.name} is ready`);
    arrived(job);
    if (!partly(entry)) setTimeout(() => { if (press.get(entry.key) === entry && entry.state === "done") forget(entry); }, READY);
  }
  // Of an archive in which a file failed, the others are on the shelf.
  if (partly(entry) && before !== "failed" && before !== "" && job.state === "failed") arrived({ ...job, document: "" });
  if (job.state === "failed" && before !== "failed" && before !== "") announce(`${job.name} failed: ${error}`);
  draw(entry);
}

/** A job of the server's list: one of ours, or one that somebody else began, or that was begun before this page was loaded. */
function meet(job) {
  const known = entryOf(job.id);
  if (known) return adopt(known, job);
  if (job.state === "done") return arrived(job);
  if (job.state === "cancelled") return undefined;
  const found = { key: job.id, name: job.name, collection: job.collection, state: "", job };
  press.set(found.key, found);
  return adopt(found, job);
}

/** What ended while nobody listened is not told again: those jobs are asked for, one by one. */
async function askForUnheard(heard) {
  for (const entry of entries().filter((one) => one.job && one.job.id && !FINAL.has(one.job.state) && !heard.has(one.job.id))) {
    try {
      adopt(entry, await api.job(entry.job.id));
    } catch (error) {
      if (lost(error)) return;
      forget(entry);
    }
  }
}

function trouble(error) {
  byId("press-trouble").textContent = lost(error) || [401, 404].includes(error.status) ? "" : error.message;
}

/** Show the collection's failures of before, follow what is under way, and go on sending. */
export async function loadJobs() {
  const asked = house.collection;
  watch({ heard: meet, unheard: askForUnheard, trouble });
  resume(entries());
  try {
    const list = await api.failedJobs(asked);
    if (asked === house.collection) for (const job of list.reverse()) if (job.state === "failed") meet(job);
  } catch (error) {
    trouble(error);
  }
  summary();
}

// --- what a person can do about it

const acts = { cancel, retry, replace, dismiss };

async function cancel(entry) {
  if (!entry.job) return unsend(entry);
  entry.stopping = true;
  draw(entry);
  return act(entry, api.cancel);
}

async function retry(entry) {
  if (entry.job && entry.job.id) return act(entry, api.retry);
  return enqueue([entry]);
}

/** Another document has its name: this one takes that one's place. */
async function replace(entry) {
  await dismissed(entry);
  Object.assign(entry, { replace: true, once: undefined, kind: "" });
  enqueue([entry]);
}

async function act(entry, what) {
  try {
    adopt(entry, await what(entry.job.id));
  } catch (error) {
    // It went with its collection or its document: there is nothing to stop, and nothing else would take the row away.
    if (error.status === 404 && onItsWay(entry)) return forget(entry);
    entry.stopping = false;
    entry.trouble = lost(error) ? "The server does not answer." : error.message;
    draw(entry);
  }
  return undefined;
}

/** The server keeps a failed upload for another try; nobody wants one any more. Returns whether it could be told so. */
async function dismissed(entry) {
  if (!entry.job || !entry.job.id || entry.state !== "failed") return true;
  try {
    await api.cancel(entry.job.id);
  } catch (error) {
    if (error.status === 404) return true;
    entry.trouble = `It could not be put away: ${error.message}`;
    lost(error);
    draw(entry);
    return false;
  }
  return true;
}

async function dismiss(entry) {
  if (await dismissed(entry)) forget(entry);
}

function forget(entry) {
  // A row that held the focus must not drop it into nowhere.
  const held = entry.node && entry.node.contains(document.activeElement);
  press.delete(entry.key);
  entry.node?.remove();
  if (held) (byId("press-list").querySelector("li:not([hidden]) button:not([hidden])") || byId("shelf-title")).focus();
  summary();
}

// --- how it looks

function draw(entry) {
  drawRow(entry, acts);
  summary();
}

let planned = false;

/** Many rows change at once: what is said of all of them is said once a frame. */
function summary() {
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => {
    planned = false;
    sumUp();
  });
}

function sumUp() {
  const all = entries();
  const bad = all.filter(failed).length;
  const going = all.filter(onItsWay);
  if (!all.length) ready = 0;
  show(byId("press"), all.length > 0);
  const words = [going.length ? `${figure(going.length)} to go` : "", ready ? `${figure(ready)} ready` : "", bad ? `${figure(bad)} failed` : ""].filter(Boolean).join(", ");
  byId("press-count").textContent = words;
  byId("shelf-going").textContent = [going.length ? `adding ${figure(going.length)}` : "", bad ? `${figure(bad)} failed` : ""].filter(Boolean).join(", ");
  show(byId("press-clear"), bad > 1);
  show(byId("press-cancel"), going.length > 1);
  const waits = going.filter((entry) => entry.state === "waiting" || entry.state === "queued");
  waits.forEach((entry, at) => { if (entry.node) show(entry.node, at < WAITING_ROWS); });
  for (const entry of all) if (entry.node && !waits.includes(entry)) show(entry.node);
  const more = waits.length - WAITING_ROWS;
  byId("press-more").textContent = more > 0 ? `and ${figure(more)} more ${more === 1 ? "waits" : "wait"}` : "";
  show(byId("press-more"), more > 0);
  expect(going.filter((entry) => entry.job).map((entry) => entry.job), going.filter((entry) => !entry.job).length);
}

/** A collection was deleted, and its jobs with it: no stream tells of them any more. */
export function dropJobs(collection) {
  for (const entry of entries()) if (entry.collection === collection && entry.job) forget(entry);
}

/** Another collection was chosen: its failures are other failures. What is under way stays in sight, and says for which collection it is. */
export function turnPress() {
  for (const entry of entries()) {
    if (onItsWay(entry)) drawRow(entry, acts);
    else forget(entry);
  }
  summary();
}

/** `onArrival` is told each job that put a document on a shelf. */
export function startPress(onArrival) {
  arrived = onArrival;
  startIntake(take);
  startSending({ changed: draw, taken, gone: forget });
  byId("press-clear").addEventListener("click", () => { for (const entry of entries().filter(failed)) dismiss(entry); });
  byId("press-cancel").addEventListener("click", () => { for (const entry of entries().filter(onItsWay).reverse()) cancel(entry); });
}
