// The timings of an answer go in; the time to its first word comes out in parts, on one scale with what reading the pages anew would have cost.

import { el } from "./dom.js";
import { seconds } from "./figures.js";

/** The walk's parts: their names in the timings, and their words. */
const PARTS = [
  ["retrieve", "retrieve", "find the passages"],
  ["plan", "plan", "choose pages and resolutions"],
  ["load", "load", "fetch their caches"],
  ["place", "place", "rotate them to their places"],
  ["prefill", "prefill", "read the question"],
];

/** [{slug, word, title, s}] of the way to the first token; what the parts leave is the wait for a turn and the first token's own. */
function way(timings) {
  const parts = PARTS.map(([name, word, title]) => ({ slug: name, word, title, s: timings[name] || 0 }));
  const rest = timings.first_token - parts.reduce((sum, part) => sum + part.s, 0);
  return [...parts, { slug: "first-token", word: "first token", title: "wait for the model, and its first token", s: Math.max(0, rest) }];
}

const total = (parts) => parts.reduce((sum, part) => sum + part.s, 0);

const bar = (parts, longest) =>
  el("span", { class: "time-bar", "aria-hidden": "true", vars: { "--share": `${(100 * total(parts)) / longest}%` } }, ...parts.filter((part) => part.s > 0).map((part) => el("span", { class: `time ${part.slug}`, title: `${part.word}: ${seconds(part.s)}`, vars: { "--grow": String((1000 * part.s) / longest) } })));

/** The same walk with the pages read anew: neither fetched nor placed, but prefilled. */
function anew(parts, full) {
  const kept = parts.filter((part) => !["load", "place"].includes(part.slug));
  const at = kept.findIndex((part) => part.slug === "prefill");
  return [...kept.slice(0, at), { slug: "full", word: "prefill of the pages", title: "", s: full.seconds }, ...kept.slice(at)];
}

/** The figure of the times. `full` is the answer's `full_prefill`, or null where it has not been measured. */
export function clock(timings, full) {
  const ours = way(timings);
  const theirs = full ? anew(ours, full) : null;
  const longest = Math.max(total(ours), theirs ? total(theirs) : 0) || 1;
  const times = theirs ? total(theirs) / Math.max(total(ours), 1e-9) : 0;
  const says = times >= 1.05 ? `, at least ${times.toFixed(times < 10 ? 1 : 0)} times sooner than with the pages read anew` : "";
  return el(
    "figure",
    { class: "first-word" },
    el("figcaption", {}, "First word after ", el("strong", { text: seconds(timings.first_token) }), says, timings.rest > 0 && `; the rest in ${seconds(timings.rest)}`),
    el(
      "div",
      { class: "races" },
      el("span", { class: "race-name", text: "from page caches" }),
      bar(ours, longest),
      el("span", { class: "race-time", text: seconds(total(ours)) }),
      theirs && el("span", { class: "race-name", text: "pages read anew" }),
      theirs && bar(theirs, longest),
      theirs && el("span", { class: "race-time", text: `≥ ${seconds(total(theirs))}` }),
    ),
    el(
      "dl",
      { class: "time-parts" },
      ...ours.map((part) => el("div", { title: part.title }, el("dt", {}, el("i", { class: `swatch ${part.slug}`, "aria-hidden": "true" }), part.word), el("dd", { text: part.s > 0 ? seconds(part.s) : "–" }))),
      full && el("div", { title: "what this answer did not have to do" }, el("dt", {}, el("i", { class: "swatch full", "aria-hidden": "true" }), "full prefill"), el("dd", { text: `≥ ${seconds(full.seconds)}` })),
    ),
    full && el("p", { class: "soft basis", text: `Full prefill is reckoned, not run: ${full.basis}${/[.!?]$/.test(full.basis) ? "" : "."}` }),
  );
}
