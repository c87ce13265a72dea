// The reader's card: GET /model comes in; what it is, what it can answer and what its caches must match come out.

import { byId, el, fill, openDialog, pair, size } from "./dom.js";
import { house } from "./house.js";

function draw() {
  const body = byId("about-body");
  const card = house.model;
  if (!card) {
    fill(body, el("p", { text: "The server has not said yet which reader it has." }));
    return;
  }
  const limits = card.limits || {};
  fill(
    body,
    el("p", { class: "about-says", text: card.says }),
    el(
      "dl",
      { class: "facts" },
      pair("Name", card.name),
      pair("Family", card.family),
      pair("Page style", card.style),
      pair("Resolutions", card.dpis.map((dpi) => `${dpi} DPI`).join(", ")),
      pair("Finds passages with", card.embedder),
      limits.file_bytes && pair("A file has at most", size(limits.file_bytes)),
      limits.question_chars && pair("A question has at most", `${limits.question_chars.toLocaleString("en-GB")} characters`),
      limits.top_k && pair("Passages at most", String(limits.top_k)),
    ),
    el("h3", { text: "Is it to be trusted?" }),
    ...verdict(card.verdict),
    el("h3", { text: "Identity" }),
    el("p", { class: "soft", text: "A stored page cache is used only where every one of these matches." }),
    el("dl", { class: "facts identity" }, ...Object.entries(card.identity).map(([field, value]) => pair(field.replaceAll("_", " "), el("code", { text: String(value) })))),
    el("h3", { text: "How it reads" }),
    el("p", { text: "Each document is laid out once as small pages, drawn at every resolution, and read by the model long before any question. What the model made of a page is kept. A question gathers the pages that speak to it, the most relevant ones sharp and the others small, and the model reads only the question." }),
  );
}

const WORDS = {
  trusted: "Trusted: its page caches are what the model would have made of the pages itself.",
  degraded: "Degraded: its page caches are exact as far as could be told, and lose something all the same.",
  unchecked: "Unchecked: nobody has examined this model. What it answers from page caches may not be what it would have answered itself.",
};

/** What `quire doctor` found: its word, the reasons, and the answers that page caches and full prefill have in common. */
function verdict(found) {
  if (!found) return [];
  const said = [el("p", { class: `verdict ${found.word}`, text: WORDS[found.word] })];
  for (const reason of found.reasons) said.push(el("p", { class: "soft", text: reason }));
  const rows = Object.entries(found.figures.agreement || {});
  if (rows.length) {
    said.push(el("p", { class: "soft", text: `Answers that are those of a full reading of the same pages, examined on ${day(found.when)}:` }));
    said.push(el("dl", { class: "facts" }, ...rows.map(([arm, counts]) => pair(arm[0].toUpperCase() + arm.slice(1), `${counts.same} of ${counts.n}`))));
  }
  return said;
}

function day(when) {
  return new Date(when).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}

export function startAbout() {
  byId("about-open").addEventListener("click", () => {
    draw();
    openDialog(byId("about"));
  });
}
