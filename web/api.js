// The HTTP contract: plain values go in, JSON comes out, or an ApiError with the server's own sentence. Streams come out as events, one by one.

import { events } from "./events.js";

/** The server answered with an error: its type and message, and the HTTP status. `status` 0: no answer at all. `wait`: seconds until it makes
 * sense to come back, where the server says so. */
export class ApiError extends Error {
  constructor(status, type, message, { detail = {}, wait = null } = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.type = type;
    this.detail = detail;
    this.wait = wait;
  }

  get away() { return this.status === 0; }

  /** Too many at once, too fast, or too early: the same request is welcome later. */
  get later() { return this.status === 429 || (this.status === 503 && PASSING.has(this.type)); }
}

const PASSING = new Set(["Busy", "HomeBusy", "NotReady", "ShuttingDown"]);
const AWAY = "The server does not answer.";
const LOST = () => new ApiError(0, "ServerAway", "The connection to the server was lost.");
const V1 = "v1/";
const part = encodeURIComponent;

// --- the key

let key = "";
let askForKey = null;

/** Send `value` with every request from now on; "" sends none. */
export function useKey(value) {
  key = value;
}

/** `ask` is called when the server says 401, with whether a key was sent; it resolves to true when there is another one to try. */
export function whenLocked(ask) {
  askForKey = ask;
}

const bearer = () => (key ? { Authorization: `Bearer ${key}` } : {});

// --- requests

/** An error out of a response that is none of 200 to 299. */
function refusal(status, text, retryAfter) {
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's own error page is not ours to show; its status is.
  }
  const error = body && body.error;
  const wait = Number.parseFloat(retryAfter);
  return new ApiError(
    status,
    (error && error.type) || "HttpError",
    (error && error.message) || (body && body.reason) || `The server answered with status ${status}.`,
    { detail: (error && error.detail) || {}, wait: Number.isFinite(wait) ? wait : null },
  );
}

async function send(path, options = {}) {
  const used = key;
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...options.headers, ...bearer() } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "ServerAway", AWAY);
  }
  if (response.ok) return response;
  const text = await response.text().catch(() => "");
  if (response.status === 401 && askForKey && (key !== used || (await askForKey(used !== "")))) return send(path, options);
  throw refusal(response.status, text, response.headers.get("Retry-After"));
}

async function json(path, options) {
  return (await send(path, options)).json();
}

/** `{limit: 50, after: null}` -> "?limit=50"; what is null or empty is left out. */
function query(values) {
  const pairs = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return pairs.length ? `?${pairs.map(([name, value]) => `${part(name)}=${part(value)}`).join("&")}` : "";
}

const asJson = (method, body) => ({ method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export const ready = () => json("readyz");
export const model = () => json(`${V1}model`);
export const stats = () => json(`${V1}stats`);

/** All of a list that comes in pieces. */
async function whole(path, name, values = {}) {
  const all = [];
  let after = null;
  do {
    const piece = await json(`${V1}${path}${query({ limit: 200, ...values, after })}`);
    all.push(...piece[name]);
    after = piece.next;
  } while (after);
  return all;
}

export const collections = () => whole("collections", "collections");
export const makeCollection = (name, body = {}) => json(`${V1}collections/${part(name)}`, asJson("PUT", body));
export const removeCollection = (name) => json(`${V1}collections/${part(name)}`, { method: "DELETE" });

/** A piece of a collection's documents: {documents, next}. `name`: a part of the names to find. */
export const documents = (collection, { name = "", after = null, limit = null } = {}) => json(`${V1}documents${query({ collection, name, after, limit })}`);
export const documentOf = (id) => json(`${V1}documents/${part(id)}`);
export const remove = (id) => json(`${V1}documents/${part(id)}`, { method: "DELETE" });
export const page = (name) => json(`${V1}pages/${part(name)}`);
export const image = async (name, dpi, signal) => (await send(`${V1}pages/${part(name)}.png${query({ dpi })}`, { signal })).blob();

export const job = (id) => json(`${V1}jobs/${part(id)}`);
export const failedJobs = (collection) => whole("jobs", "jobs", { collection, state: "failed" });
export const cancel = (id) => json(`${V1}jobs/${part(id)}/cancel`, { method: "POST" });
export const retry = (id) => json(`${V1}jobs/${part(id)}/retry`, { method: "POST" });

export const forget = (conversation) => send(`${V1}conversations/${part(conversation)}`, { method: "DELETE" });

/** Every job's changes, for as long as the connection holds: yields the job. Those that are unfinished come first. `opened` is called once it stands. */
export async function* jobEvents(opened) {
  const response = await send(`${V1}jobs/events`, { headers: { Accept: "text/event-stream" } });
  opened();
  for await (const event of events(response.body, LOST)) if (event.name === "job") yield JSON.parse(event.data);
}

/** Ask, and read the answer as it comes: yields {name: "planned" | "compiling" | "token" | "done" | "failed", data}. */
export async function* ask(request, signal) {
  const response = await send(`${V1}ask`, {
    ...asJson("POST", { ...request, stream: true }),
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    signal,
  });
  for await (const event of events(response.body, LOST)) yield { name: event.name, data: JSON.parse(event.data) };
}

/**
 * Send one file under `name`, which may have its folders before it; returns its job, which may already have failed at the door.
 * `once` names this sending: sent again under it, after a connection that broke, the file is not taken in twice. `progress` is told the share sent.
 */
export async function upload({ file, name, collection, replace, once }, progress, signal) {
  const form = new FormData();
  form.append("files", file, name);
  form.append("collection", collection);
  form.append("replace", replace ? "true" : "false");
  const used = key;
  const { status, text, wait } = await post(`${V1}documents`, form, { ...bearer(), "Idempotency-Key": once }, progress, signal);
  if (status >= 200 && status < 300) return JSON.parse(text).jobs[0];
  if (status === 401 && askForKey && (key !== used || (await askForKey(used !== "")))) return upload({ file, name, collection, replace, once }, progress, signal);
  throw refusal(status, text, wait);
}

/** fetch cannot say how much of a body has gone out; XMLHttpRequest can. */
function post(path, body, headers, progress, signal) {
  return new Promise((take, refuse) => {
    const request = new XMLHttpRequest();
    const stop = () => request.abort();
    request.open("POST", path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable && event.total) progress(event.loaded / event.total); });
    request.addEventListener("load", () => take({ status: request.status, text: request.responseText, wait: request.getResponseHeader("Retry-After") }));
    request.addEventListener("error", () => refuse(new ApiError(0, "ServerAway", AWAY)));
    request.addEventListener("abort", () => refuse(new DOMException("stopped", "AbortError")));
    request.addEventListener("loadend", () => signal.removeEventListener("abort", stop));
    signal.addEventListener("abort", stop);
    if (signal.aborted) refuse(new DOMException("stopped", "AbortError"));
    else request.send(body);
  });
}
