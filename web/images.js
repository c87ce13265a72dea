// Page images: a page and a DPI go in, an address that an <img> can show comes out. An <img> cannot send a key; a request of our own can.

import { image } from "./api.js";

/** Addresses of blobs by image, each with how many frames show it: {promise, users, url}. */
const held = new Map();

const nameOf = (page, dpi) => `${page}@${dpi}`;

/** A server that asks to go slower is asked once more, when it said. */
async function fetched(page, dpi) {
  try {
    return await image(page, dpi);
  } catch (error) {
    if (!error.later) throw error;
    await new Promise((go) => { setTimeout(go, 1000 * (error.wait ?? 1)); });
    return image(page, dpi);
  }
}

function acquire(page, dpi) {
  const name = nameOf(page, dpi);
  let entry = held.get(name);
  if (!entry) {
    entry = { users: 0, url: "", promise: null };
    entry.promise = fetched(page, dpi).then((blob) => {
      if (held.get(name) !== entry) throw new DOMException("no longer wanted", "AbortError");
      entry.url = URL.createObjectURL(blob);
      return entry.url;
    });
    // A failure is not kept: the image may be there at the next try.
    entry.promise.catch(() => { if (held.get(name) === entry) held.delete(name); });
    held.set(name, entry);
  }
  entry.users += 1;
  return entry.promise;
}

function release(page, dpi) {
  const name = nameOf(page, dpi);
  const entry = held.get(name);
  if (!entry) return;
  entry.users -= 1;
  if (entry.users > 0) return;
  held.delete(name);
  if (entry.url) URL.revokeObjectURL(entry.url);
}

/** How many images are held; the page's tests ask, for a blob that is never revoked stays in memory until the tab is closed. */
export const holding = () => held.size;

// --- frames: fetched when they come near the screen, released when they leave the page

const frames = new WeakMap();
const near = new IntersectionObserver(
  (entries) => { for (const { target, isIntersecting } of entries) if (isIntersecting) begin(target); },
  { rootMargin: "600px" },
);
const gone = new MutationObserver((changes) => {
  for (const { removedNodes } of changes) {
    for (const node of removedNodes) {
      if (node.nodeType !== Node.ELEMENT_NODE || node.isConnected) continue;
      if (frames.has(node)) end(node);
      for (const inner of node.querySelectorAll(".sheet")) if (frames.has(inner)) end(inner);
    }
  }
});
gone.observe(document.body, { childList: true, subtree: true });

function begin(frame) {
  near.unobserve(frame);
  const facts = frames.get(frame);
  if (!facts || facts.begun) return;
  facts.begun = true;
  acquire(facts.page, facts.dpi).then(
    (url) => { if (frames.get(frame) === facts) facts.shown(url); },
    (error) => {
      // It holds nothing: what it let go of later would be another frame's.
      facts.begun = false;
      if (frames.get(frame) === facts && error.name !== "AbortError") facts.failed(error);
    },
  );
}

function end(frame) {
  near.unobserve(frame);
  const facts = frames.get(frame);
  frames.delete(frame);
  if (facts.begun) release(facts.page, facts.dpi);
}

/** Fetch the image of `page` at `dpi` for a frame, now or when it comes near the screen; `shown` is told its address, `failed` why there is none. */
export function hang(frame, { page, dpi, lazy, shown, failed }) {
  frames.set(frame, { page, dpi, shown, failed, begun: false });
  if (lazy) near.observe(frame);
  else begin(frame);
}
