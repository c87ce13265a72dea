// One document, opened: its notes, and every page as it is read, at each resolution side by side.

import * as api from "./api.js";
import { isSharp, place } from "./citing.js";
import { byId, el, fill, openDialog, show, whenClosed } from "./dom.js";
import { count, figure, size } from "./figures.js";
import { house, lost } from "./house.js";
import { sheet } from "./sheet.js";
import { view } from "./viewer.js";
import { Zoom } from "./zoom.js";

/** Pages drawn at a time; a long document has thousands. */
const AT_ONCE = 24;
/** The width that a page with its twin takes at least, in rem. */
const LEVELS = [
  { word: "small", value: 16 },
  { word: "medium", value: 26 },
  { word: "large", value: 40 },
  { word: "widest", value: 90 },
];

let shown = { id: "", name: "", pages: [], drawn: 0 };
let zoom = null;

export async function openGallery(one) {
  shown = { id: one.id, name: one.name, pages: [], drawn: 0 };
  byId("gallery-title").textContent = one.name;
  byId("gallery-facts").textContent = [count(one.pages, "page"), count(one.chunks, "passage"), count(one.chars, "character"), size(one.bytes), one.media].filter(Boolean).join(" · ");
  const notes = byId("gallery-notes");
  fill(notes, el("h3", { text: "Notes of the ingest" }), el("ul", {}, ...one.notes.map((text) => el("li", { text }))));
  show(notes, one.notes.length > 0);
  fill(byId("gallery-pages"));
  show(byId("gallery-more"), false);
  state("Fetching the pages …");
  openDialog(byId("gallery"));
  try {
    const whole = await api.documentOf(one.id);
    if (shown.id !== one.id) return;
    shown.pages = whole.page_list.map((page) => ({ ...page, name: one.name, lines: [] }));
    state(shown.pages.length ? "" : "This document has no pages.");
    more();
    byId("gallery-pages").querySelector("button")?.focus();
  } catch (error) {
    lost(error);
    if (shown.id === one.id) state(error.status === 404 ? "This document is not there any more." : error.message);
  }
}

function state(text) {
  byId("gallery-state").textContent = text;
  show(byId("gallery-state"), text !== "");
}

function more() {
  const piece = shown.pages.slice(shown.drawn, shown.drawn + AT_ONCE);
  byId("gallery-pages").append(...piece.map((page, at) => spread(page, shown.drawn + at)));
  shown.drawn += piece.length;
  const left = shown.pages.length - shown.drawn;
  const button = byId("gallery-more");
  button.textContent = `Show more pages (${figure(left)} left)`;
  show(button, left > 0);
}

const dpisOf = (page) => Object.keys(page.rows).map(Number).sort((a, b) => a - b);

/** A page at every resolution, lowest first. */
function spread(page, at) {
  const open = (dpi) => view(shown.pages.map((other, index) => ({ ...other, dpi: index === at ? dpi : dpisOf(other).at(-1) })), at, house.dpis);
  return el(
    "li",
    { class: page.height > page.width ? "spread tall" : "spread" },
    el("p", { class: "spread-head" }, el("span", { class: "folio", text: String(at + 1) }), place(page) && el("span", { class: "soft spread-place", text: place(page), title: place(page) })),
    ...dpisOf(page).map((dpi) =>
      el(
        "button",
        { type: "button", class: "card", "aria-label": `Open page ${at + 1} at ${dpi} DPI`, "aria-haspopup": "dialog", on: { click: () => open(dpi) } },
        sheet({ ...page, dpi }),
        el("span", { class: "card-tags" }, el("span", { class: `badge dpi${isSharp(dpi, dpisOf(page)) ? " sharp" : ""}`, text: `${dpi} DPI` }), el("span", { class: "soft", text: count(page.rows[String(dpi)], "row") })),
      ),
    ),
  );
}

/** The card that an arrow leads to: sideways the next one, up and down the nearest one of the next line. */
function neighbour(cards, from, key) {
  const at = cards.indexOf(from);
  if (key === "Home") return cards[0];
  if (key === "End") return cards.at(-1);
  if (key === "ArrowLeft") return cards[at - 1];
  if (key === "ArrowRight") return cards[at + 1];
  const up = key === "ArrowUp";
  const here = from.getBoundingClientRect();
  const places = cards.map((card) => ({ card, box: card.getBoundingClientRect() })).filter(({ box }) => (up ? box.top < here.top - 1 : box.top > here.top + 1));
  const line = up ? Math.max(...places.map(({ box }) => box.top)) : Math.min(...places.map(({ box }) => box.top));
  const off = ({ box }) => Math.abs(box.left - here.left);
  return places.filter(({ box }) => Math.abs(box.top - line) < 2).sort((a, b) => off(a) - off(b))[0]?.card;
}

const MOVES = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

export function startGallery() {
  zoom = new Zoom(byId("gallery-zoom"), LEVELS, (value) => byId("gallery-pages").style.setProperty("--spread", `${value}rem`), 1);
  byId("gallery-more").addEventListener("click", () => {
    const from = shown.drawn;
    more();
    // The button may be gone: the focus goes on to the first page that it brought.
    byId("gallery-pages").children[from]?.querySelector("button")?.focus();
  });
  // What is out of sight is let go of: the document may be deleted before the gallery is opened again.
  whenClosed(byId("gallery"), () => {
    shown = { id: "", name: "", pages: [], drawn: 0 };
    for (const part of ["gallery-pages", "gallery-notes"]) fill(byId(part));
    show(byId("gallery-more"), false);
  });
  byId("gallery").addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (zoom.take(event.key)) return event.preventDefault();
    if (!MOVES.has(event.key)) return;
    const cards = [...byId("gallery-pages").querySelectorAll(".card")];
    const next = cards.includes(event.target) ? neighbour(cards, event.target, event.key) : cards[0];
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  });
}
