// How an answer was made: a plan, its provenance and its timings go in; leaves drawn to their rows, and the first word's time in parts, come out.

import { byId, count, el, fill, seconds, size } from "./dom.js";

const TIER = {
  ram: { word: "memory", title: "its cache was in memory" },
  disk: { word: "disk", title: "its cache was read from disk" },
  window: { word: "in place", title: "it stood there already, from an earlier question" },
  compiled: { word: "compiled now", title: "its cache was not there and was compiled for this answer" },
};

/** What stands in place is in memory, and looks it. */
const look = (tier) => (tier === "window" ? "ram" : tier);

const FITS = {
  exact: "formed for the very pages before it",
  orbit: "formed for these pages before it, in any order",
  subset: "formed for some of the pages before it",
  kept: "it keeps what it took from pages that stood before it",
};

/** A patch in words: what a page took from those before it. */
function patchFacts({ match, rank, missing, bytes }) {
  const lacks = missing.length ? `, without ${count(missing.length, "page")} of them` : "";
  return `patched at rank ${rank}: ${FITS[match] || match}${lacks}; ${size(bytes)}`;
}

/** Show the strip. Before the answer is done only the plan is known: `answer` is null. */
export function showStrip(plan, answer) {
  const provenance = answer ? answer.provenance : [];
  const timings = answer ? answer.timings : null;
  byId("made-count").textContent = `${count(plan.rows, "row")} of context`;
  fill(
    byId("strip"),
    gathering(plan, provenance),
    provenance.length > 0 && key(provenance),
    timings && firstWord(timings),
    provenance.length > 0 && numbers(provenance),
  );
}

/** One leaf a page, as wide as its rows and as tall as its resolution. */
function gathering(plan, provenance) {
  const highest = Math.max(1, ...plan.picks.map((pick) => pick.dpi));
  const leaves = plan.picks.map((pick, at) => {
    const from = provenance[at];
    const tier = from ? TIER[from.tier] || { word: from.tier, title: from.tier } : null;
    const facts = [`Page ${at + 1}: ${pick.dpi} DPI`, `${count(pick.rows, "row")}`, tier && tier.title, from && from.patch && patchFacts(from.patch)].filter(Boolean).join(", ");
    return el(
      "li",
      { class: `leaf ${from ? look(from.tier) : "planned"}${from && from.patch ? " patched" : ""}`, title: facts, vars: { "--rows": String(pick.rows), "--tall-share": (pick.dpi / highest).toFixed(3) } },
      el("span", { class: "leaf-bar", "aria-hidden": "true" }, el("span", { class: "leaf-rows", text: String(pick.rows) })),
      el("span", { class: "leaf-folio", "aria-hidden": "true", text: String(at + 1) }),
      el("span", { class: "unseen", text: facts }),
    );
  });
  return el("ol", { class: "gathering", "aria-label": "The context: pages in order, with their rows" }, ...leaves);
}

function key(provenance) {
  const tiers = [...new Set(provenance.map((page) => page.tier))];
  const read = provenance.reduce((sum, page) => sum + page.bytes_read, 0);
  return el(
    "p",
    { class: "legend soft" },
    ...tiers.map((tier) =>
      el(
        "span",
        { title: (TIER[tier] || { title: tier }).title },
        el("i", { class: `swatch ${look(tier)}`, "aria-hidden": "true" }),
        ` ${(TIER[tier] || { word: tier }).word} × ${provenance.filter((page) => page.tier === tier).length}`,
      ),
    ),
    provenance.some((page) => page.patch) && el("span", {}, el("i", { class: "swatch patch", "aria-hidden": "true" }), " patched"),
    read > 0 && el("span", { text: `${size(read)} read` }),
  );
}

/** The time to the first token and its parts, one after the other; what the parts leave is the first token's own. */
function firstWord(timings) {
  const parts = ["retrieve", "plan", "load", "place", "prefill"].map((name) => [name, timings[name] || 0]);
  const rest = timings.first_token - parts.reduce((sum, [, s]) => sum + s, 0);
  parts.push(["first token", Math.max(0, rest)]);
  const shown = parts.filter(([, s]) => s > 0);
  const whole = shown.reduce((sum, [, s]) => sum + s, 0) || 1;
  const slug = (name) => name.replace(" ", "-");
  return el(
    "figure",
    { class: "first-word" },
    el("figcaption", {}, "First word after ", el("strong", { text: seconds(timings.first_token) }), timings.rest > 0 && `, the rest in ${seconds(timings.rest)}`),
    el("div", { class: "time-bar", "aria-hidden": "true" }, ...shown.map(([name, s]) => el("span", { class: `time ${slug(name)}`, title: `${name}: ${seconds(s)}`, vars: { "--share": String(s / whole) } }))),
    el("dl", { class: "time-parts" }, ...parts.map(([name, s]) => el("div", {}, el("dt", {}, el("i", { class: `swatch ${slug(name)}`, "aria-hidden": "true" }), ` ${name}`), el("dd", { text: s > 0 ? seconds(s) : "–" })))),
  );
}

/** Every page in figures: tier, bytes, rows, position and patch, as the server told them. */
function numbers(provenance) {
  const head = ["", "DPI", "cache from", "read", "rows", "position", "patch", "page key"];
  const rows = provenance.map((page, at) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", text: String(at + 1) }),
      el("td", { text: String(page.dpi) }),
      el("td", { text: (TIER[page.tier] || { word: page.tier }).word }),
      el("td", { text: page.bytes_read ? size(page.bytes_read) : "–" }),
      el("td", { text: `${page.first}–${page.last - 1}` }),
      el("td", { text: String(page.position) }),
      el("td", page.patch ? { text: `${page.patch.match} r${page.patch.rank}`, title: patchFacts(page.patch) } : { text: "–" }),
      el("td", {}, el("code", { text: page.page.slice(0, 12), title: page.page })),
    ),
  );
  return el(
    "details",
    { class: "numbers" },
    el("summary", { text: "Every page in figures" }),
    el(
      "div",
      { class: "table-scroll", tabindex: "0", role: "group", "aria-label": "Every page in figures" },
      el("table", {}, el("thead", {}, el("tr", {}, ...head.map((text) => el("th", { scope: "col" }, text || el("span", { class: "unseen", text: "page" }))))), el("tbody", {}, ...rows)),
    ),
  );
}
