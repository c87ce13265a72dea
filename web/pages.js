// The pages an answer was read from, in context order, and the viewer that opens one of them at the very DPI it was read at.

import * as api from "./api.js";
import { byId, count, el, fill, openDialog, pair, show } from "./dom.js";
import { sheet } from "./sheet.js";

const WHY = {
  relevant: { word: "relevant", title: "Among the most relevant: read sharp" },
  fallback: { word: "fallback", title: "Nothing stood out; the nearest passage was read sharp" },
  context: { word: "context", title: "Beside the most relevant: read at low resolution" },
  uniform: { word: "uniform", title: "Every page was read at this resolution" },
};

/** Where a page stands, in words: its printed page and heading, as far as they are known. */
export function place({ source_page: printed, heading }) {
  return [printed ? `page ${printed}` : "", heading ? heading.replace(/:$/, "") : ""].filter(Boolean).join(" · ");
}

/**
 * What is known of each page in this answer: a citation with its pick. Both come in context order; should they ever differ,
 * page and DPI find the pick.
 */
export function leaves(citations, plan) {
  const fits = (pick, citation) => pick && pick.page === citation.page && pick.dpi === citation.dpi;
  return citations.map((citation, at) => {
    const pick = fits(plan.picks[at], citation) ? plan.picks[at] : plan.picks.find((other) => fits(other, citation));
    return { ...citation, read: citation.dpi, pick: pick || null };
  });
}

/** How the model took a page: "120 DPI", or "text" where it read the words without an image. */
function taken(item) {
  return item.read_as === "text" ? "text" : `${item.dpi} DPI`;
}

/** Show the cards. `dpis` are those a page can be seen at. */
export function showPages(items, plan, dpis) {
  const list = byId("pages");
  list.classList.toggle("tall", items.some((item) => item.height > item.width));
  fill(list, ...items.map((item, at) => el("li", {}, card(item, at, items, dpis))));
  byId("pages-count").textContent = count(items.length, "page") + (items.length > 1 ? ", in reading order" : "");
  const left = plan.dropped ? plan.dropped.length : 0;
  if (left) byId("pages-count").textContent += `; ${count(left, "passage")} did not fit`;
  const kinds = new Set(items.flatMap((item) => item.lines.map((line) => line.why)));
  show(byId("legend-holds"), kinds.has("holds the answer"));
  show(byId("legend-closest"), kinds.has("closest to the question"));
  show(byId("pages-legend"), kinds.size > 0);
}

function card(item, at, items, dpis) {
  const why = item.pick ? WHY[item.pick.why] || { word: item.pick.why, title: "" } : null;
  const score = item.pick ? item.pick.score : null;
  const cited = item.lines.some((line) => line.why === "holds the answer") ? " cited holds" : item.lines.length ? " cited" : "";
  const lines = item.lines.length ? count(item.lines.length, "marked line") : "";
  const label = [`Open page ${at + 1} of ${items.length}: ${item.name}`, place(item), item.read_as === "text" ? "read as text" : `read at ${item.dpi} DPI`, why && why.word, lines].filter(Boolean).join(", ");
  return el(
    "button",
    { type: "button", class: `card${cited}`, "aria-label": label, "aria-haspopup": "dialog", on: { click: () => view(items, at, dpis) } },
    sheet({ ...item, lazy: false }),
    el(
      "span",
      { class: "card-tags" },
      el("span", { class: "folio", text: String(at + 1) }),
      el("span", { class: `badge dpi${item.dpi >= 100 ? " sharp" : ""}`, text: taken(item) }),
      why && el("span", { class: `badge why ${item.pick.why}`, text: why.word, title: why.title }),
      score !== null &&
        el(
          "span",
          { class: "score", title: "Similarity of its passage to the question" },
          el("span", { class: "score-bar" }, el("span", { vars: { "--w": `${100 * Math.min(1, Math.max(0, score))}%` } })),
          el("span", { text: score.toFixed(2) }),
        ),
    ),
    el("span", { class: "card-name", text: item.name, title: item.name }),
    place(item) && el("span", { class: "card-place", text: place(item) }),
  );
}

// --- the viewer

const open = { items: [], at: 0, dpi: 72, dpis: [] };

/** Open the viewer at `items[at]`, at the DPI that page was read at. */
export function view(items, at, dpis) {
  open.items = items;
  open.dpis = dpis;
  turn(at);
  openDialog(byId("viewer"));
  byId("viewer-stage").focus();
}

function turn(at) {
  const item = open.items[at];
  open.at = at;
  open.dpi = item.dpi;
  byId("viewer-title").textContent = item.name;
  byId("viewer-place").textContent = place(item);
  byId("viewer-folio").textContent = `${at + 1} of ${open.items.length}`;
  byId("viewer-back").disabled = at === 0;
  byId("viewer-next").disabled = at === open.items.length - 1;
  const all = [...new Set([...open.dpis, item.dpi])].sort((a, b) => a - b);
  fill(byId("viewer-dpis"), el("legend", { class: "unseen", text: "Resolution" }), ...all.map((dpi) => choice(dpi, item)));
  const lines = byId("viewer-lines");
  fill(lines, ...item.lines.map((line) => lineRow(line)));
  show(lines, item.lines.length > 0);
  show(byId("viewer-lines-title"), item.lines.length > 0);
  fill(
    byId("viewer-facts"),
    item.pick && pair("Chosen as", `${item.pick.why}, score ${item.pick.score.toFixed(3)}`),
    item.pick && pair("Cache rows", item.pick.rows.toLocaleString("en-GB")),
    item.rows && pair("Cache rows", Object.entries(item.rows).map(([dpi, n]) => `${n.toLocaleString("en-GB")} at ${dpi}`).join(", ")),
    pair("Page key", el("code", { text: item.page })),
  );
  const words = byId("viewer-words");
  words.open = false;
  words.dataset.page = item.page;
  fill(byId("viewer-text"));
  draw();
}

function choice(dpi, item) {
  const input = el("input", { type: "radio", name: "viewer-dpi", value: String(dpi), on: { change: () => { open.dpi = dpi; draw(); } } });
  input.checked = dpi === open.dpi;
  return el("label", {}, input, el("span", { text: `${dpi} DPI`, class: dpi === item.read ? "was-read" : "" }));
}

function draw() {
  const item = open.items[open.at];
  const stage = byId("viewer-stage");
  const alt = item.lines.length ? `Page image at ${open.dpi} DPI. Marked: ${item.lines.map((line) => line.text).join("; ")}` : `Page image at ${open.dpi} DPI`;
  stage.classList.toggle("true-pixels", byId("viewer-pixels").checked);
  stage.classList.toggle("tall", item.height > item.width);
  fill(stage, sheet({ ...item, dpi: open.dpi, alt, lazy: false }));
  byId("viewer-read").textContent = !item.read
    ? ""
    : open.dpi === item.read
      ? item.read_as === "text"
        ? "Read as text: the image shows what stood on the page"
        : "The very image the answer was read from"
      : `Read at ${item.read} DPI for this answer`;
}

function lineRow(line) {
  const flash = (on) => {
    for (const node of byId("viewer-stage").querySelectorAll(".mark")) node.classList.toggle("lit", on && node.dataset.line === String(line.index));
  };
  return el(
    "li",
    { class: line.why === "holds the answer" ? "holds" : "closest", on: { pointerenter: () => flash(true), pointerleave: () => flash(false) } },
    el("q", { text: line.text.trim() }),
    el("span", { class: "soft", text: line.why }),
  );
}

async function words() {
  const details = byId("viewer-words");
  const key = details.dataset.page;
  if (!details.open || byId("viewer-text").childElementCount) return;
  const target = byId("viewer-text");
  fill(target, el("p", { class: "soft", text: "Fetching …" }));
  try {
    const page = await api.page(key);
    // Another page may have been turned to while this one's text was on its way.
    if (details.dataset.page === key) fill(target, ...page.lines.map((line) => el("p", { text: line.text || " " })));
  } catch (error) {
    if (details.dataset.page === key) fill(target, el("p", { class: "soft", text: error.message }));
  }
}

export function startPages() {
  byId("viewer-back").addEventListener("click", () => turn(open.at - 1));
  byId("viewer-next").addEventListener("click", () => turn(open.at + 1));
  byId("viewer-pixels").addEventListener("change", draw);
  byId("viewer-words").addEventListener("toggle", words);
  byId("viewer").addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLInputElement || event.altKey || event.ctrlKey || event.metaKey) return;
    const stage = byId("viewer-stage");
    if (event.target === stage && stage.scrollWidth > stage.clientWidth + 1) return;
    if (event.key === "ArrowLeft" && open.at > 0) turn(open.at - 1);
    else if (event.key === "ArrowRight" && open.at < open.items.length - 1) turn(open.at + 1);
  });
}
