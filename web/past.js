// What was asked before, in this browser: the conversation at hand above the answer, all else below it; each can be opened and forgotten.

import { byId, el, fill, iconButton, show } from "./dom.js";
import { count, moment } from "./figures.js";
import { answersOf, forgetAll, forgetAnswer } from "./history.js";
import { house } from "./house.js";
import { askSure } from "./sure.js";

/** Answers that are listed at first. */
const FIRST = 8;

let all = false;
let shown = null;
let since = null;
let acts = { opened: () => {}, emptied: () => {} };

/** The answer on screen, by the moment it was asked, and the moment since which the conversation at hand runs: both or either may be null. */
export function listPast(current, talkSince) {
  shown = current;
  since = talkSince;
  draw();
}

function draw() {
  const list = answersOf(house.collection);
  const turns = since ? list.filter((one) => one.at >= since && one.answer.conversation) : [];
  const thread = turns.filter((one) => shown && one.at < shown).reverse();
  fill(byId("thread"), ...thread.map((one) => el("li", {}, opener(one, "turn"))));
  show(byId("thread"), thread.length > 0);
  const others = list.filter((one) => one.at !== shown && !thread.includes(one));
  show(byId("earlier"), others.length > 0);
  fill(byId("earlier-list"), ...(all ? others : others.slice(0, FIRST)).map(row));
  const more = others.length - FIRST;
  byId("earlier-more").textContent = `Show ${count(more, "more answer")}`;
  show(byId("earlier-more"), more > 0 && !all);
}

function opener({ answer, at }, look) {
  return el(
    "button",
    { type: "button", class: `earlier-one ${look}`, on: { click: () => acts.opened(answer, at) } },
    el("span", { class: "earlier-question" }, answer.question),
    el("span", { class: "earlier-answer", text: answer.text.trim() || "(nothing)" }),
    look === "row" && el("span", { class: "soft earlier-when", text: moment(at) }),
  );
}

function row(one) {
  const away = () => {
    forgetAnswer(house.collection, one.at);
    draw();
    (byId("earlier-list").querySelector(".icon-button") || byId("question")).focus();
  };
  return el("li", { class: "earlier-row" }, opener(one, "row"), iconButton("close", `Forget the answer to ${one.answer.question}`, away));
}

export function startPast(given) {
  acts = given;
  byId("earlier-more").addEventListener("click", () => {
    all = true;
    draw();
    byId("earlier-list").children[FIRST]?.querySelector("button")?.focus();
  });
  const clear = byId("earlier-clear");
  const box = byId("earlier-tools");
  const plain = () => fill(box, clear);
  clear.addEventListener("click", () => {
    askSure(box, {
      words: ["Forget all answers of ", el("b", { text: house.collection }), "? They are kept in this browser alone."],
      verb: "Forget them",
      back: () => {
        plain();
        clear.focus();
      },
      go: () => {
        plain();
        forgetAll(house.collection);
        acts.emptied();
        byId("question").focus();
      },
    });
  });
}
