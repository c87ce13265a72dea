// How an answer was made: a plan and its provenance go in; the context comes out as it was assembled, leaf by leaf, and page by page in figures.

import { place, taken, WHY } from "./citing.js";
import { el } from "./dom.js";
import { count, size } from "./figures.js";

const TIER = {
  ram: { word: "memory", title: "its cache was in memory" },
  disk: { word: "disk", title: "its cache was read from disk" },
  window: { word: "in place", title: "it stood there already, from an earlier question" },
  compiled: { word: "compiled again", title: "its cache had made room on the disk, and was compiled for this answer" },
};

const tierOf = (from) => TIER[from.tier] || { word: from.tier, title: from.tier };

const FITS = {
  exact: "formed for the very pages before it",
  orbit: "formed for these pages before it, in any order",
  subset: "formed for some of the pages before it",
  kept: "it keeps what it took from pages that stood before it",
};

/** A patch in words: what a page took from those before it. */
function patchFacts({ kind, match, rank, missing, bytes }) {
  const lacks = missing.length ? `, without ${count(missing.length, "page")} of them` : "";
  return `${kind === "removal" ? "removal patch" : "patched"} at rank ${rank}: ${FITS[match] || match}${lacks}; ${size(bytes)}`;
}

const whyOf = (pick) => WHY[pick.why] || { word: pick.why, title: pick.why };

/** The context in order: the template's own rows, one leaf a page, as wide as its rows and as tall as its resolution, and the question. */
export function gathering(items, plan, provenance, opened) {
  const highest = Math.max(1, ...plan.picks.map((pick) => pick.dpi));
  const leaves = plan.picks.map((pick, at) => {
    const from = provenance[at];
    const facts = [`Page ${at + 1}: ${items[at] ? items[at].name : ""}`, `${pick.dpi} DPI, ${whyOf(pick).word}`, count(pick.rows, "row"), from && tierOf(from).title, from && from.patch && patchFacts(from.patch), from && from.note].filter(Boolean).join(", ");
    return el(
      "li",
      { class: "leaf-place", vars: { "--rows": String(pick.rows) } },
      el(
        "button",
        { type: "button", class: `leaf ${from ? from.tier : "planned"}${from && from.patch ? " patched" : ""}`, title: facts, "aria-label": facts, "aria-haspopup": "dialog", vars: { "--tall-share": (pick.dpi / highest).toFixed(3) }, on: { click: () => opened(at) } },
        el("span", { class: "leaf-bar", "aria-hidden": "true" }, el("span", { class: "leaf-rows", text: String(pick.rows) })),
        el("span", { class: "leaf-folio", "aria-hidden": "true", text: String(at + 1) }),
      ),
    );
  });
  const first = provenance.length ? provenance[0].first : 0;
  return el(
    "ol",
    { class: "gathering", "aria-label": "The context, in order" },
    el("li", { class: "leaf-place stub", title: first ? `The template's own ${count(first, "row")}, kept too` : "The template's own rows, kept too" }, el("span", { class: "leaf-bar prefix" }), el("span", { class: "unseen", text: "The template's own rows" })),
    ...leaves,
    el("li", { class: "leaf-place stub", title: "The question: all that is read anew" }, el("span", { class: "leaf-bar question", "aria-hidden": "true", text: "?" }), el("span", { class: "unseen", text: "The question, which is all that is read anew" })),
  );
}

/** What the colours mean, with how many pages came from where. */
export function legend(provenance) {
  const tiers = [...new Set(provenance.map((page) => page.tier))];
  const read = provenance.reduce((sum, page) => sum + page.bytes_read, 0);
  return el(
    "p",
    { class: "legend soft" },
    ...tiers.map((tier) => el("span", { title: (TIER[tier] || { title: tier }).title }, el("i", { class: `swatch ${tier}`, "aria-hidden": "true" }), `${(TIER[tier] || { word: tier }).word} × ${provenance.filter((page) => page.tier === tier).length}`)),
    provenance.some((page) => page.patch) && el("span", { title: "It was placed with what it would have taken from the pages before it" }, el("i", { class: "swatch patch", "aria-hidden": "true" }), "patched"),
    el("span", { title: "All that the model reads now" }, el("i", { class: "swatch question", "aria-hidden": "true" }), "the question"),
    read > 0 && el("span", { text: `${size(read)} read` }),
  );
}

/** Every page in figures: why it was taken, where its cache came from, its bytes, rows and patch, as the server told them. */
export function ledger(items, plan, provenance) {
  const head = ["", "page", "DPI", "why", "cache from", "read", "rows", "position", "patch"];
  const rows = provenance.map((page, at) => {
    const item = items[at] || { name: page.page };
    const pick = plan.picks[at];
    return el(
      "tr",
      {},
      el("th", { scope: "row", text: String(at + 1) }),
      el("td", { class: "ledger-page", title: `${item.name}, page key ${page.page}` }, el("span", { class: "ledger-name", text: item.name }), place(item) && el("span", { class: "soft", text: place(item) })),
      el("td", { text: item.read_as ? taken(item).replace(" DPI", "") : String(page.dpi) }),
      el("td", { text: pick ? whyOf(pick).word : "–", title: pick ? whyOf(pick).title : "" }),
      el("td", { title: tierOf(page).title }, el("i", { class: `swatch ${page.tier}`, "aria-hidden": "true" }), tierOf(page).word),
      el("td", { class: "number", text: page.bytes_read ? size(page.bytes_read) : "–" }),
      el("td", { class: "number", text: `${page.first}–${page.last - 1}` }),
      el("td", { class: "number", text: String(page.position) }),
      el("td", page.patch ? { title: patchFacts(page.patch) } : {}, page.patch ? `${page.patch.kind} r${page.patch.rank}, ${page.patch.match}` : "–", page.patch && page.patch.tier !== page.tier && el("span", { class: "soft", text: `from ${tierOf(page.patch).word}` }), page.note && el("span", { class: "ledger-note", text: page.note })),
    );
  });
  return el(
    "details",
    { class: "numbers", open: provenance.some((page) => page.note) },
    el("summary", { text: "Every page in figures" }),
    el(
      "div",
      { class: "table-scroll", tabindex: "0", role: "group", "aria-label": "Every page in figures" },
      el("table", {}, el("thead", {}, el("tr", {}, ...head.map((text) => el("th", { scope: "col" }, text || el("span", { class: "unseen", text: "place" }))))), el("tbody", {}, ...rows)),
    ),
  );
}
