// What a person types goes in; a question comes out, checked against what the reader takes: typed, chosen from the examples, or drafted before a reload.

import { byId, el, fill, show } from "./dom.js";
import { examplesOf } from "./examples.js";
import { house, lost } from "./house.js";
import { keep, kept } from "./keep.js";

const DRAFT = "quire-draft";

/** Which of the looks for examples is the latest: an older one that comes back later must not show. */
let lookedFor = 0;
let ask = () => {};

/** Say what the reader can answer, where the question is written. */
export function showReader() {
  const says = byId("says");
  says.textContent = house.model ? house.model.says : "";
  const limits = house.model && house.model.limits;
  if (limits && limits.question_chars) byId("question").maxLength = limits.question_chars;
  if (limits && limits.top_k) byId("top-k").max = String(limits.top_k);
}

/** Offer a question or two that the documents at hand answer; none without documents, or where no known form of line is found. */
export async function showExamples(documents) {
  const box = byId("examples");
  lookedFor += 1;
  const mine = lookedFor;
  if (!documents.length) return show(box, false);
  let questions = [];
  try {
    questions = await examplesOf(documents);
  } catch (error) {
    // Examples are a courtesy; only the server's absence is worth a word.
    lost(error);
  }
  if (mine !== lookedFor) return undefined;
  const take = (question) => {
    byId("question").value = question;
    grow();
    ask(question);
  };
  fill(byId("examples-list"), ...questions.map((question) => el("li", {}, el("button", { type: "button", class: "example", text: question, on: { click: () => take(question) } }))));
  return show(box, questions.length > 0);
}

/** What the person set under "How much to read"; what is left empty is the server's to say. */
export function budget() {
  const chosen = {};
  for (const [id, name] of [["top-k", "top_k"], ["cap", "cap"], ["alpha", "alpha"]]) {
    const field = byId(id);
    if (field.value !== "") chosen[name] = field.valueAsNumber;
  }
  return chosen;
}

function grow() {
  const field = byId("question");
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${field.scrollHeight + 2}px`);
}

/** `onQuestion` is told each question that is asked; `onStop`, that the one under way is to be stopped. */
export function startForm(onQuestion, onStop) {
  ask = onQuestion;
  const form = byId("ask-form");
  const field = byId("question");
  field.value = kept("session", DRAFT, "");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const question = field.value.trim();
    if (!question) return field.focus();
    ask(question);
    // What is typed next is another question: it takes the place of this one.
    return field.select();
  });
  field.addEventListener("input", () => {
    keep("session", DRAFT, field.value || null);
    grow();
  });
  window.addEventListener("resize", grow);
  field.addEventListener("keydown", (event) => {
    // While an input method composes a character, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  byId("stop-button").addEventListener("click", () => {
    onStop();
    field.focus();
  });
}
