// One document, opened: its notes, and every page as it is read, at each resolution side by side.

import * as api from "./api.js";
import { byId, count, el, fill, openDialog, show, size } from "./dom.js";
import { house, lost } from "./house.js";
import { place, view } from "./pages.js";
import { sheet } from "./sheet.js";

/** Pages drawn at a time; a long document has thousands. */
const AT_ONCE = 24;

let shown = { id: "", name: "", pages: [], drawn: 0 };

export async function openGallery(one) {
  shown = { id: one.id, name: one.name, pages: [], drawn: 0 };
  byId("gallery-title").textContent = one.name;
  byId("gallery-facts").textContent = [count(one.pages, "page"), count(one.chunks, "passage"), count(one.chars, "character"), size(one.bytes), one.media].join(" · ");
  const notes = byId("gallery-notes");
  fill(notes, el("h3", { text: "Notes" }), el("ul", {}, ...one.notes.map((text) => el("li", { text }))));
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
  } catch (error) {
    lost(error);
    if (shown.id === one.id) state(error.message);
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
  button.textContent = `Show more pages (${left.toLocaleString("en-GB")} left)`;
  show(button, left > 0);
}

/** A page at every resolution, lowest first. */
function spread(page, at) {
  const dpis = Object.keys(page.rows).map(Number).sort((a, b) => a - b);
  const views = shown.pages;
  const open = (dpi) => view(views.map((other, index) => ({ ...other, dpi: index === at ? dpi : Math.max(...Object.keys(other.rows).map(Number)) })), at, house.dpis);
  return el(
    "li",
    { class: page.height > page.width ? "spread tall" : "spread" },
    el("p", { class: "spread-head" }, el("span", { class: "folio", text: String(at + 1) }), place(page) && el("span", { class: "soft", text: place(page) })),
    ...dpis.map((dpi) =>
      el(
        "button",
        { type: "button", class: "card", "aria-label": `Open page ${at + 1} at ${dpi} DPI`, "aria-haspopup": "dialog", on: { click: () => open(dpi) } },
        sheet({ ...page, dpi }),
        el("span", { class: "card-tags" }, el("span", { class: `badge dpi${dpi >= 100 ? " sharp" : ""}`, text: `${dpi} DPI` }), el("span", { class: "soft", text: count(page.rows[String(dpi)], "row") })),
      ),
    ),
  );
}

export function startGallery() {
  byId("gallery-more").addEventListener("click", () => {
    const from = shown.drawn;
    more();
    // The button may be gone: the focus goes on to the first page that it brought.
    byId("gallery-pages").children[from]?.querySelector("button")?.focus();
  });
}
