// The HTTP contract: plain values go in, JSON comes out, or an ApiError with the server's own sentence. Streams come out as events, one by one.

/** The server answered with an error: its type and message, and the HTTP status. `status` 0: no answer at all. */
export class ApiError extends Error {
  constructor(status, type, message, detail = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.type = type;
    this.detail = detail;
  }

  get away() { return this.status === 0; }
}

const AWAY = "The server does not answer.";

async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "ServerAway", AWAY);
  }
  if (response.ok) return response;
  let body = null;
  try {
    body = await response.json();
  } catch {
    // A proxy's own error page is not ours to show; its status is.
  }
  const error = body && body.error;
  throw new ApiError(
    response.status,
    (error && error.type) || "HttpError",
    (error && error.message) || (body && body.reason) || `The server answered with status ${response.status}.`,
    (error && error.detail) || {},
  );
}

async function json(path, options) {
  return (await send(path, options)).json();
}

const part = encodeURIComponent;

export const ready = () => json("readyz");
export const model = () => json("v1/model");
export const collections = async () => (await json("v1/collections")).collections;
export const documents = async (collection) => (await json(`v1/documents?collection=${part(collection)}`)).documents;
export const documentOf = (id) => json(`v1/documents/${part(id)}`);
export const remove = (id) => json(`v1/documents/${part(id)}`, { method: "DELETE" });
export const jobs = async (collection) => (await json(`v1/jobs?collection=${part(collection)}`)).jobs;
export const cancel = (id) => json(`v1/jobs/${part(id)}/cancel`, { method: "POST" });
export const retry = (id) => json(`v1/jobs/${part(id)}/retry`, { method: "POST" });
export const page = (key) => json(`v1/pages/${part(key)}`);
export const imageUrl = (key, dpi) => `v1/pages/${part(key)}.png?dpi=${part(dpi)}`;

/** Send one file under `name`, which may have its folders before it. Returns its job, which may already have failed at the door. */
export async function upload(file, name, collection, replace, signal) {
  const form = new FormData();
  form.append("files", file, name);
  form.append("collection", collection);
  form.append("replace", replace ? "true" : "false");
  const body = await json("v1/documents", { method: "POST", body: form, signal });
  return body.jobs[0];
}

/** A job's changes, until it ends: yields the job. */
export async function* jobEvents(id, signal) {
  const response = await send(`v1/jobs/${part(id)}/events`, { headers: { Accept: "text/event-stream" }, signal });
  for await (const event of events(response.body)) {
    if (event.name === "job") yield JSON.parse(event.data);
  }
}

/** Ask, and read the answer as it comes: yields {name: "planned" | "token" | "done" | "failed", data}. */
export async function* ask(request, signal) {
  const response = await send("v1/ask", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ ...request, stream: true }),
    signal,
  });
  for await (const event of events(response.body)) yield { name: event.name, data: JSON.parse(event.data) };
}

/**
 * Server-sent events out of a stream of bytes: yields {name, data}. Lines may end in LF, CR LF or CR, an event may be cut
 * anywhere between two reads, `data` may take several lines, and lines that start with a colon are only heartbeats.
 */
export async function* events(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  let name = "";
  let data = [];
  try {
    for (;;) {
      let chunk;
      try {
        chunk = await reader.read();
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ApiError(0, "ServerAway", "The connection to the server was lost.");
      }
      buffer += chunk.done ? decoder.decode() : decoder.decode(chunk.value, { stream: true });
      let from = 0;
      for (;;) {
        const rest = buffer.slice(from);
        const found = /\r\n|\n|\r/.exec(rest);
        // A CR at the very end may be half of a CR LF: wait for the next read.
        if (!found || (found[0] === "\r" && !chunk.done && found.index === rest.length - 1)) break;
        const line = rest.slice(0, found.index);
        from += found.index + found[0].length;
        if (line === "") {
          if (data.length) yield { name: name || "message", data: data.join("\n") };
          name = "";
          data = [];
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "event") name = value;
        else if (field === "data") data.push(value);
      }
      buffer = buffer.slice(from);
      // What the stream left without a blank line behind it is not an event.
      if (chunk.done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
