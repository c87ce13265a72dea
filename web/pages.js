// The pages an answer was read from come in, in context order; a card of each comes out, and opens the very image that was read.

import { isSharp, place, taken, WHY } from "./citing.js";
import { byId, el, fill, show } from "./dom.js";
import { count } from "./figures.js";
import { holds, sheet } from "./sheet.js";
import { view } from "./viewer.js";

/** Show the cards. `dpis` are those a page can be seen at. */
export function showPages(items, plan, dpis) {
  const list = byId("pages");
  list.classList.toggle("tall", items.some((item) => item.height > item.width));
  fill(list, ...items.map((item, at) => el("li", {}, card(item, at, items, dpis))));
  const left = plan.dropped ? plan.dropped.length : 0;
  byId("pages-count").textContent = [count(items.length, "page"), items.length > 1 && "in reading order", left && `${count(left, "passage")} did not fit`].filter(Boolean).join(", ");
  const marked = items.flatMap((item) => item.lines);
  show(byId("legend-holds"), marked.some(holds));
  show(byId("legend-closest"), marked.some((line) => !holds(line)));
  show(byId("pages-legend"), marked.length > 0);
}

function card(item, at, items, dpis) {
  const why = item.pick ? WHY[item.pick.why] || { word: item.pick.why, title: "" } : null;
  const score = item.pick ? item.pick.score : null;
  const cited = item.lines.some(holds) ? " cited holds" : item.lines.length ? " cited" : "";
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
      el("span", { class: `badge dpi${isSharp(item.dpi, dpis) ? " sharp" : ""}`, text: taken(item) }),
      why && el("span", { class: `badge why ${item.pick.why}`, text: why.word, title: why.title }),
      score !== null && el("span", { class: "score", title: "Similarity of its passage to the question", text: score.toFixed(2) }),
    ),
    el("span", { class: "card-name", text: item.name, title: item.name }),
    el("span", { class: "card-place", text: place(item), title: place(item) || null }),
  );
}

/** Where the answer's words stand, as buttons that open the page: the nearest thing to a footnote. */
export function showSources(items, dpis) {
  const marked = items.map((item, at) => ({ item, at })).filter(({ item }) => item.lines.length > 0);
  const firm = marked.filter(({ item }) => item.lines.some(holds));
  const told = firm.length ? firm : marked;
  const box = byId("answer-sources");
  show(box, told.length > 0);
  fill(
    box,
    el("span", { class: "soft", text: firm.length ? "Its words stand on" : "Nearest to the question" }),
    ...told.map(({ item, at }) =>
      el(
        "button",
        { type: "button", class: `source${firm.length ? " holds" : ""}`, "aria-haspopup": "dialog", title: item.lines.map((line) => line.text.trim()).join("\n"), on: { click: () => view(items, at, dpis) } },
        el("span", { class: "folio", text: String(at + 1) }),
        el("span", { class: "source-name", text: item.name }),
        item.source_page && el("span", { class: "soft", text: `p. ${item.source_page}` }),
      ),
    ),
  );
}
