// One page of several goes in; it is shown at the DPI it was read at, with its marked lines, its size, its words and what is known of it.

import * as api from "./api.js";
import { isWhole, MARK, place, WHY } from "./citing.js";
import { byId, el, fill, openDialog, pair, show, whenClosed } from "./dom.js";
import { count, figure } from "./figures.js";
import { holds, sheet } from "./sheet.js";
import { Zoom } from "./zoom.js";

const LEVELS = [
  { word: "fit", value: null },
  { word: "1 : 1", value: 1 },
  { word: "2 : 1", value: 2 },
  { word: "3 : 1", value: 3 },
  { word: "4 : 1", value: 4 },
];

const open = { items: [], at: 0, dpi: 72, dpis: [], page: null };
let zoom = null;

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
  Object.assign(open, { at, dpi: item.dpi, page: null });
  byId("viewer-title").textContent = item.name;
  byId("viewer-place").textContent = place(item);
  byId("viewer-folio").textContent = `${at + 1} of ${open.items.length}`;
  byId("viewer-back").disabled = at === 0;
  byId("viewer-next").disabled = at === open.items.length - 1;
  const all = [...new Set([...open.dpis, item.dpi])].sort((a, b) => a - b);
  fill(byId("viewer-dpis"), el("legend", { class: "unseen", text: "Resolution" }), ...all.map((dpi) => choice(dpi, item)));
  fill(byId("viewer-lines"), ...item.lines.map((line) => lineRow(line, item)));
  show(byId("viewer-lines"), item.lines.length > 0);
  show(byId("viewer-lines-title"), item.lines.length > 0);
  show(byId("viewer-proof"), item.lines.length > 0);
  facts(item);
  fill(byId("viewer-text"));
  byId("viewer-words").open = false;
  draw();
  lookUp(item.page);
}

function facts(item) {
  const why = item.pick && (WHY[item.pick.why] || { title: item.pick.why });
  fill(
    byId("viewer-facts"),
    item.pick && pair("Why it is here", why.title),
    item.pick && pair("Similarity to the question", item.pick.score.toFixed(3)),
    item.pick && pair("Rows of context", figure(item.pick.rows)),
    item.rows && pair("Rows of context", Object.entries(item.rows).map(([dpi, n]) => `${figure(n)} at ${dpi} DPI`).join(", ")),
    open.page && open.page.kind && pair("Page", open.page.kind === "native" ? "the document's own image" : "laid out from the document's text"),
    pair("Page key", el("code", { text: item.page })),
  );
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

function lineRow(line, item) {
  if (isWhole(line, item)) return el("li", { class: "closest", text: "The whole page" }, el("span", { class: "soft", text: MARK.whole }));
  const flash = (on) => {
    for (const node of byId("viewer-stage").querySelectorAll(".mark")) node.classList.toggle("lit", on && node.dataset.line === String(line.index));
  };
  return el(
    "li",
    { class: holds(line) ? "holds" : "closest", on: { pointerenter: () => flash(true), pointerleave: () => flash(false) } },
    el("q", { text: line.text.trim() }),
    el("span", { class: "soft", text: holds(line) ? MARK.holds : MARK.closest }),
  );
}

/** What the server knows of the page: its kind, and its lines as text. */
async function lookUp(key) {
  const target = byId("viewer-text");
  const here = () => open.items[open.at]?.page === key;
  byId("viewer-words-title").textContent = "The page as text";
  try {
    const page = await api.page(key);
    // Another page may have been turned to while this one was on its way.
    if (!here()) return;
    open.page = page;
    facts(open.items[open.at]);
    if (page.kind === "native") byId("viewer-words-title").textContent = page.lines.length ? `Text found in the image (OCR, ${count(page.lines.length, "line")})` : "No text was found in this image";
    fill(target, ...(page.lines.length ? page.lines.map((line) => el("p", { text: line.text || " " })) : [el("p", { class: "soft", text: "This page is an image. The model reads it as it is." })]));
  } catch (error) {
    if (here()) fill(target, el("p", { class: "soft", text: error.message }));
  }
}

export function startViewer() {
  zoom = new Zoom(byId("viewer-zoom"), LEVELS, (value) => {
    byId("viewer-stage").classList.toggle("scaled", value !== null);
    byId("viewer-stage").style.setProperty("--zoom", String(value ?? 1));
  });
  byId("viewer-back").addEventListener("click", () => turn(open.at - 1));
  byId("viewer-next").addEventListener("click", () => turn(open.at + 1));
  // What is out of sight is let go of: the document may be deleted before the viewer is opened again.
  whenClosed(byId("viewer"), () => {
    Object.assign(open, { items: [], at: 0, page: null });
    for (const part of ["viewer-stage", "viewer-lines", "viewer-facts", "viewer-text"]) fill(byId(part));
  });
  byId("viewer").addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (zoom.take(event.key)) return event.preventDefault();
    if (event.target instanceof HTMLInputElement) return undefined;
    const stage = byId("viewer-stage");
    // A page that is wider than its stage is moved by the arrows, not turned.
    if (event.target === stage && stage.scrollWidth > stage.clientWidth + 1) return undefined;
    if (event.key === "ArrowLeft" && open.at > 0) turn(open.at - 1);
    else if (event.key === "ArrowRight" && open.at < open.items.length - 1) turn(open.at + 1);
    return undefined;
  });
}
