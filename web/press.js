// One file on its way goes in (where it stands, or why it failed); its row, with what a person can do about it, comes out.

import { byId, el, show, size } from "./dom.js";
import { house } from "./house.js";

const STAGES = {
  load: "reading the file",
  chunk: "cutting into passages",
  paginate: "laying out",
  rasterise: "drawing",
  compile: "compiling",
  patch: "patching",
  store: "storing",
  index: "indexing",
};

/** Did it fail on its way, or was it turned away at the door? */
export const failed = (entry) => entry.state === "failed" || entry.state === "refused";

function words(entry) {
  const { job } = entry;
  if (entry.state === "waiting") return "waiting to be sent";
  if (entry.state === "sending") return `sending ${size(entry.file.size)}`;
  if (entry.state === "queued") return "queued";
  if (failed(entry)) return entry.error || "It failed, and gave no reason.";
  const stage = STAGES[job.stage] || job.stage || "starting";
  return job.total > 0 ? `${stage} ${job.done.toLocaleString("en-GB")} of ${job.total.toLocaleString("en-GB")}` : stage;
}

/**
 * Draw an entry, in place: a button that has the focus keeps it while the numbers move.
 * `acts` is what its buttons do: cancel, retry and dismiss, each given the entry.
 */
export function drawRow(entry, acts) {
  if (!entry.node) {
    entry.status = el("p", { class: "press-status" });
    entry.bar = el("progress", { class: "press-bar", "aria-label": `Progress of ${entry.name}` });
    entry.stop = el("button", { type: "button", class: "link", text: "Cancel", "aria-label": `Cancel ${entry.name}`, on: { click: () => acts.cancel(entry) } });
    entry.again = el("button", { type: "button", class: "link", text: "Try again", "aria-label": `Try ${entry.name} again`, on: { click: () => acts.retry(entry) } });
    entry.away = el("button", { type: "button", class: "link", text: "Dismiss", "aria-label": `Dismiss ${entry.name}`, on: { click: () => acts.dismiss(entry) } });
    entry.node = el(
      "li",
      { class: "press-row" },
      el("p", { class: "press-name", text: entry.name, title: entry.name }),
      entry.status,
      entry.bar,
      el("div", { class: "row-buttons" }, entry.again, entry.away, entry.stop),
    );
    byId("press-list").append(entry.node);
  }
  const bad = failed(entry);
  entry.node.classList.toggle("failed", bad);
  entry.node.dataset.state = entry.state;
  const elsewhere = entry.collection === house.collection ? "" : `for ${entry.collection}: `;
  const text = elsewhere + (entry.trouble ? `${words(entry)} ${entry.trouble}` : words(entry));
  if (entry.status.textContent !== text) entry.status.textContent = text;
  show(entry.bar, !bad);
  const total = entry.job && entry.state === "running" ? entry.job.total : 0;
  if (total > 0) {
    entry.bar.max = total;
    entry.bar.value = entry.job.done;
  } else if (entry.state === "running" || entry.state === "sending") entry.bar.removeAttribute("value");
  else entry.bar.value = 0;
  show(entry.stop, !bad);
  show(entry.again, bad && !entry.final);
  show(entry.away, bad);
}
