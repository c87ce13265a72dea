// An answer goes in, planned, half written or whole; it is shown with the pages it was read from, where its words stand, and how it was made.

import { isWhole, leaves } from "./citing.js";
import { clock } from "./clock.js";
import { byId, fill, show } from "./dom.js";
import { count, moment, seconds } from "./figures.js";
import { house } from "./house.js";
import { showPages, showSources } from "./pages.js";
import { holds } from "./sheet.js";
import { gathering, ledger, legend } from "./strip.js";
import { view } from "./viewer.js";

const FINISH = {
  length: "The answer was cut: it reached the most words it may have.",
  repetition: "The answer was ended: the reader had begun to repeat itself.",
  cancelled: "Stopped.",
};

/** What the reader writes where it finds no answer. */
const NOT_STATED = /^not stated\.?$/i;
const NO_ANSWER = "The reader found no answer on these pages.";
const UNSEEN = "These words do not stand on the pages below. Check before you rely on them.";
const PICTURES = "Pages below are pictures without known text: look whether these words stand there before you rely on them.";

/** Does the answer stand on its pages? What to say beside it; empty where a marked line holds it, or where it was not finished. */
function check(answer) {
  const text = answer.text.trim();
  if (!text || answer.finish === "cancelled") return "";
  if (NOT_STATED.test(text)) return NO_ANSWER;
  if (answer.citations.some((one) => one.lines.some(holds))) return "";
  return answer.citations.some((one) => one.lines.some((line) => isWhole(line, one))) ? PICTURES : UNSEEN;
}

function showCheck(text) {
  const line = byId("answer-check");
  line.textContent = text;
  line.classList.toggle("calm", text === NO_ANSWER);
  show(line, text !== "");
}

function note(text, trouble = false) {
  byId("answer-note").textContent = text;
  show(byId("answer-note"), text !== "");
  byId("answer").classList.toggle("failed", trouble);
}

function writing(is) {
  byId("answer").classList.toggle("writing", is);
  // Screen readers wait for the whole answer instead of reading every piece of it.
  byId("answer-said").setAttribute("aria-busy", String(is));
}

/** The line that says what goes on; "" takes it away. */
export function tell(text) {
  byId("answer-state").textContent = text;
  show(byId("answer-state"), text !== "");
}

export function begin(question) {
  writing(true);
  byId("answer-question").textContent = question;
  byId("answer-text").textContent = "";
  showCheck("");
  note("");
  show(byId("answer-facts"), false);
  show(byId("answer-sources"), false);
  show(byId("answer"));
  show(byId("evidence"), false);
  tell("Finding the passages …");
}

/** The pages are known, and how they will be read. */
export function showPlan({ plan, citations }) {
  const sharp = plan.picks.filter((pick) => pick.why === "relevant" || pick.why === "fallback").length;
  tell(`Reading ${count(plan.picks.length, "page")}${sharp && sharp < plan.picks.length ? `, ${sharp} of them sharp` : ""} …`);
  evidence(citations, plan, null);
}

export function write(piece) {
  tell("");
  byId("answer-text").append(piece);
}

/** It ended before it was whole: by a person, or by an error. `known`: whether pages were shown that stay. */
export function end(words, trouble, known) {
  writing(false);
  tell("");
  note(words, trouble);
  if (!known) show(byId("evidence"), false);
}

/** Show a whole answer: one that has just been written, or, with the moment it was asked, one of before. `remark`: what else to say. */
export function present(answer, at = null, remark = "") {
  writing(false);
  byId("answer-question").textContent = answer.question;
  byId("answer-text").textContent = answer.text.trim() || "(The reader wrote nothing.)";
  showCheck(check(answer));
  show(byId("answer"));
  tell("");
  note([FINISH[answer.finish], remark].filter(Boolean).join(" "));
  const talk = answer.conversation;
  const facts = [
    answer.model,
    count(answer.tokens, "token"),
    `first word after ${seconds(answer.timings.first_token)}`,
    talk && [`turn ${talk.turn}`, talk.kept ? `${count(talk.kept, "page")} kept` : ""].filter(Boolean).join(", "),
    at && `asked ${moment(at)}`,
  ];
  byId("answer-facts").textContent = facts.filter(Boolean).join(" · ");
  show(byId("answer-facts"));
  const items = evidence(answer.citations, answer.plan, answer);
  showSources(items, house.dpis);
}

function evidence(citations, plan, answer) {
  const items = leaves(citations, plan);
  const provenance = answer ? answer.provenance : [];
  show(byId("evidence"));
  showPages(items, plan, house.dpis);
  byId("made-count").textContent = `${count(plan.rows, "row")} of context`;
  fill(
    byId("strip"),
    gathering(items, plan, provenance, (at) => view(items, at, house.dpis)),
    provenance.length > 0 && legend(provenance),
    answer && clock(answer.timings, answer.full_prefill || null),
    provenance.length > 0 && ledger(items, plan, provenance),
  );
  return items;
}

export function clearAnswer() {
  writing(false);
  show(byId("answer"), false);
  show(byId("evidence"), false);
}
