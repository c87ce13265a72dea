// GET /v1/model and /v1/stats come in; what the reader is, whether it is to be trusted, what it has done, and what its caches must match come out.

import { byId, el, fill, openDialog, pair } from "./dom.js";
import { count, day, figure, seconds, size, span } from "./figures.js";
import { forgetEverything } from "./history.js";
import { house } from "./house.js";
import { forgetNamed } from "./keep.js";
import { forgetKey, hasKey } from "./key.js";
import { loadStorage } from "./storage.js";

function draw() {
  const body = byId("about-body");
  const card = house.model;
  if (!card) {
    fill(body, el("p", { text: "The server has not said yet which reader it has." }));
    return;
  }
  fill(
    body,
    el("p", { class: "about-says", text: card.says }),
    el("h3", { text: "Is it to be trusted?" }),
    ...verdict(card.verdict),
    el("h3", { text: "What it has done" }),
    ...work(house.stats),
    el("h3", { text: "The reader" }),
    el("dl", { class: "facts" }, ...reader(card)),
    el("h3", { text: "How it reads" }),
    el("p", { text: "Each document is laid out once as small pages, drawn at every resolution, and read by the model long before any question. What the model made of a page is kept. A question gathers the pages that speak to it, the most relevant ones sharp and the others small, and the model reads only the question." }),
    el("h3", { text: "Identity" }),
    el("p", { class: "soft", text: "A stored page cache is used only where every one of these matches." }),
    el("dl", { class: "facts identity" }, ...Object.entries(card.identity).map(([field, value]) => pair(field.replaceAll("_", " "), el("code", { text: String(value) })))),
    hasKey() && el("p", { class: "about-key" }, el("button", { type: "button", class: "quiet", text: "Forget the key and all answers here", on: { click: leave } })),
  );
}

function leave() {
  forgetKey();
  // Answers hold what documents say; a question under way, a draft and a conversation's id are the same person's.
  forgetEverything();
  forgetNamed("session", "quire-");
  location.reload();
}

function reader(card) {
  const limits = card.limits || {};
  return [
    pair("Name", card.name),
    pair("Family", card.family),
    pair("Page style", card.style),
    pair("Resolutions", card.dpis.map((dpi) => `${dpi} DPI`).join(", ")),
    pair("Finds passages with", card.embedder),
    limits.file_bytes && pair("A file has at most", size(limits.file_bytes)),
    limits.question_chars && pair("A question has at most", `${figure(limits.question_chars)} characters`),
    limits.top_k && pair("Passages at most", String(limits.top_k)),
  ];
}

function work(stats) {
  if (!stats) return [el("p", { class: "soft", text: "The server has not said yet." })];
  const { ram } = stats;
  const looks = ram.hits + ram.misses;
  const each = Object.entries(stats.bytes_per_page || {}).filter(([name, bytes]) => name !== "image" && bytes);
  return [
    el(
      "dl",
      { class: "facts" },
      pair("Holds", `${count(stats.documents, "document")}, ${count(stats.pages, "page")}, in ${count(stats.collections, "collection")}`),
      pair("Answered", `${count(stats.questions.answered, "question")}${stats.questions.failed ? `; ${figure(stats.questions.failed)} failed` : ""}`),
      stats.first_token && pair("First word after", `${seconds(stats.first_token.p50)} as a rule, ${seconds(stats.first_token.p99)} in one of a hundred`),
      looks > 0 && pair("Caches found in memory", `${Math.round((100 * ram.hits) / looks)} in 100`),
      pair("Memory for caches", ram.limit ? `${size(ram.bytes)} of ${size(ram.limit)}` : "none"),
      pair("On the disk", stats.limit_bytes ? `${size(stats.bytes.total)} of ${size(stats.limit_bytes)}` : size(stats.bytes.total)),
      each.length > 0 && pair("A page takes", each.map(([dpi, bytes]) => `${size(bytes)} at ${dpi} DPI`).join(", ")),
      pair("Running for", span(stats.uptime)),
    ),
  ];
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

export function startAbout() {
  byId("about-open").addEventListener("click", async () => {
    draw();
    openDialog(byId("about"));
    await loadStorage();
    draw();
  });
}
