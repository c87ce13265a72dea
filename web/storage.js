// How much of the disk the stock takes, and how much more is on its way: GET /v1/stats comes in, a bar and its legend come out.

import * as api from "./api.js";
import { byId, el, fill, show } from "./dom.js";
import { count, figure, size } from "./figures.js";
import { forecast } from "./forecast.js";
import { house, lost } from "./house.js";

let coming = { jobs: [], unsent: 0 };

/** Ask for the figures anew, and draw them. */
export async function loadStorage() {
  try {
    house.stats = await api.stats();
  } catch (error) {
    if (lost(error)) return;
    house.stats = null;
  }
  drawStorage();
}

/** Jobs under way and files that are still to be sent: what the forecast is made of. */
export function expect(jobs, unsent) {
  coming = { jobs, unsent };
  drawStorage();
}

/** The kinds of bytes, each with its words; what takes nothing is left out. */
function parts({ bytes }) {
  const caches = Object.entries(bytes.caches).sort(([a], [b]) => Number(a) - Number(b));
  const sharpest = caches.length - 1;
  return [
    ...caches.map(([dpi, n], at) => ({ kind: at === sharpest && at > 0 ? "sharp" : "low", words: `caches at ${dpi} DPI`, bytes: n })),
    { kind: "images", words: "page images", bytes: bytes.images },
    { kind: "patches", words: "patches", bytes: bytes.patches },
    { kind: "index", words: "index and catalogue", bytes: bytes.index + bytes.catalogue },
    { kind: "spool", words: "uploads in hand", bytes: bytes.spool },
  ].filter((one) => one.bytes > 0);
}

function drawStorage() {
  const { stats } = house;
  show(byId("storage"), Boolean(stats));
  if (!stats) return;
  const limit = stats.limit_bytes;
  const more = forecast(coming.jobs, coming.unsent, stats, house.dpis.length);
  const ahead = more && more.pages > 0 ? more : null;
  const whole = Math.max(limit || 0, stats.bytes.total + (ahead ? ahead.bytes : 0), 1);
  const over = limit !== null && ahead && stats.bytes.total + ahead.bytes > limit;
  byId("storage-used").textContent = limit ? `${size(stats.bytes.total)} of ${size(limit)}` : size(stats.bytes.total);
  const kinds = parts(stats);
  fill(
    byId("storage-bar"),
    ...kinds.map((one) => el("span", { class: `stock ${one.kind}`, title: `${one.words}: ${size(one.bytes)}`, vars: { "--share": `${(100 * one.bytes) / whole}%` } })),
    ahead && el("span", { class: "stock ahead", title: `on its way: about ${size(ahead.bytes)}`, vars: { "--share": `${(100 * ahead.bytes) / whole}%` } }),
  );
  const line = byId("storage-ahead");
  line.textContent = ahead ? `About ${size(ahead.bytes)} more on the way: ${ahead.sure ? "" : "some "}${count(ahead.pages, "page")}.${over ? " That is over the limit: the sharp caches used least lately will make room, and are compiled again when a question needs them." : ""}` : "";
  show(line, Boolean(ahead));
  line.classList.toggle("over", Boolean(over));
  fill(
    byId("storage-parts"),
    ...kinds.map((one) => el("div", {}, el("dt", {}, el("i", { class: `swatch stock ${one.kind}`, "aria-hidden": "true" }), one.words), el("dd", { text: size(one.bytes) }))),
    el("div", { class: "storage-note soft", text: `${count(stats.documents, "document")}, ${count(stats.pages, "page")} in ${count(stats.collections, "collection")}` }),
    stats.evicted_pages > 0 && el("div", { class: "storage-note soft", text: `${figure(stats.evicted_pages)} sharp ${stats.evicted_pages === 1 ? "cache has" : "caches have"} made room; they come back when a question needs them.` }),
  );
}
