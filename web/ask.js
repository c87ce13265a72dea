// A question goes in; the pages it will read, the answer as it is written, and how it was made come out.

import * as api from "./api.js";
import { announce, byId, count, el, fill, seconds, show } from "./dom.js";
import { examplesOf } from "./examples.js";
import { house, lost } from "./house.js";
import { leaves, showPages } from "./pages.js";
import { showStrip } from "./strip.js";

const FINISH = {
  length: "The answer was cut: it reached the most words it may have.",
  repetition: "The answer was ended: the reader had begun to repeat itself.",
  cancelled: "Stopped.",
};

/** What the reader writes where it finds no answer. */
const NOT_STATED = /^not stated\.?$/i;
const NO_ANSWER = "The reader found no answer on these pages.";
const UNSEEN = "These words do not stand on the pages below. Check before you rely on them.";

/** Errors that mean the same to a person: there is nothing yet to read. */
const NOTHING_TO_READ = new Set(["EmptyCollection", "UnknownCollection"]);

/** The question being answered: {controller}, or null. */
let running = null;
/** Which of the looks for examples is the latest: an older one that comes back later must not show. */
let lookedFor = 0;
/** Answers of this visit, newest first. */
let answers = [];

async function ask(question) {
  running?.controller.abort();
  const mine = { controller: new AbortController(), text: "", plan: null };
  running = mine;
  const asked = house.collection;
  begin(question);
  try {
    for await (const { name, data } of api.ask({ question, collection: asked, ...budget() }, mine.controller.signal)) {
      if (running !== mine) return;
      if (name === "planned") planned(mine, data);
      else if (name === "token") write(mine, data.text);
      else if (name === "failed") return stopped(mine, sentence(data.error, asked), true);
      else if (name === "done") return finished(mine, data);
    }
    if (running === mine) stopped(mine, "The connection ended before the answer was whole. Ask again.", true);
  } catch (error) {
    if (running !== mine) return;
    if (error.name === "AbortError") stopped(mine, mine.text ? "Stopped. This is what had been written." : "Stopped.", false);
    else {
      lost(error);
      stopped(mine, sentence(error, asked), true);
    }
  }
}

/** An error in words: the server's own, but for those that only say that the shelf is empty. */
function sentence({ type, message }, collection) {
  if (NOTHING_TO_READ.has(type)) return `The collection “${collection}” has no documents yet. Add some, or open another collection; then ask.`;
  return message;
}

/** Does the answer stand on its pages? What to say beside it; empty where a marked line holds it, or where it was not finished. */
function check(answer) {
  const text = answer.text.trim();
  if (!text || answer.finish === "cancelled") return "";
  if (NOT_STATED.test(text)) return NO_ANSWER;
  return answer.citations.some((one) => one.lines.some((line) => line.why === "holds the answer")) ? "" : UNSEEN;
}

function showCheck(text) {
  const line = byId("answer-check");
  line.textContent = text;
  line.classList.toggle("calm", text === NO_ANSWER);
  show(line, text !== "");
}

/** What the person set under "How much to read"; what is left empty is the server's to say. */
function budget() {
  const chosen = {};
  for (const [id, name] of [["top-k", "top_k"], ["cap", "cap"], ["alpha", "alpha"]]) {
    const field = byId(id);
    if (field.value !== "") chosen[name] = field.valueAsNumber;
  }
  return chosen;
}

function busy(is) {
  show(byId("ask-button"), !is);
  show(byId("stop-button"), is);
  byId("answer").classList.toggle("writing", is);
  // Screen readers wait for the whole answer instead of reading every piece of it.
  byId("answer-said").setAttribute("aria-busy", String(is));
}

function begin(question) {
  busy(true);
  byId("answer-question").textContent = question;
  byId("answer-state").textContent = "Finding the passages …";
  byId("answer-text").textContent = "";
  showCheck("");
  byId("answer").classList.remove("failed");
  show(byId("answer-state"));
  show(byId("answer-note"), false);
  show(byId("answer-facts"), false);
  show(byId("answer"));
  show(byId("evidence"), false);
  announce("Finding the passages");
}

function planned(mine, { plan, citations }) {
  mine.plan = plan;
  const sharp = plan.picks.filter((pick) => pick.why !== "context" && pick.why !== "kept").length;
  byId("answer-state").textContent = `Reading ${count(plan.picks.length, "page")}${sharp && sharp < plan.picks.length ? `, ${sharp} of them sharp` : ""} …`;
  showEvidence(leaves(citations, plan), plan, null);
  announce(`Reading ${count(plan.picks.length, "page")}`);
}

function showEvidence(items, plan, answer) {
  show(byId("evidence"));
  showPages(items, plan, house.dpis);
  showStrip(plan, answer);
}

function write(mine, piece) {
  if (!mine.text) show(byId("answer-state"), false);
  mine.text += piece;
  byId("answer-text").append(piece);
}

function stopped(mine, words, failed) {
  running = null;
  busy(false);
  show(byId("answer-state"), false);
  const note = byId("answer-note");
  note.textContent = words;
  show(note);
  byId("answer").classList.toggle("failed", failed);
  if (!mine.plan) show(byId("evidence"), false);
}

function finished(mine, answer) {
  running = null;
  busy(false);
  answers = [answer, ...answers.filter((other) => other.question !== answer.question || other.collection !== answer.collection)];
  present(answer);
  listEarlier(answer);
}

/** Show a whole answer: one that has just been written, or one of before. */
function present(answer) {
  byId("answer-question").textContent = answer.question;
  byId("answer-text").textContent = answer.text.trim() || "(The reader wrote nothing.)";
  showCheck(check(answer));
  byId("answer").classList.remove("failed");
  show(byId("answer"));
  show(byId("answer-state"), false);
  const note = byId("answer-note");
  note.textContent = FINISH[answer.finish] || "";
  show(note, Boolean(note.textContent));
  const facts = byId("answer-facts");
  const talk = answer.conversation;
  const turn = talk && [`turn ${talk.turn}`, talk.kept ? `${count(talk.kept, "page")} kept` : ""].filter(Boolean).join(", ");
  facts.textContent = [answer.model, count(answer.tokens, "token"), `first word after ${seconds(answer.timings.first_token)}`, turn].filter(Boolean).join(" · ");
  show(facts);
  showEvidence(leaves(answer.citations, answer.plan), answer.plan, answer);
}

function listEarlier(current) {
  const others = answers.filter((answer) => answer !== current && answer.collection === house.collection);
  show(byId("earlier"), others.length > 0);
  fill(
    byId("earlier-list"),
    ...others.map((answer) =>
      el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            class: "earlier-one",
            on: {
              click: () => {
                present(answer);
                listEarlier(answer);
                byId("answer").scrollIntoView({ block: "nearest" });
              },
            },
          },
          el("span", { class: "earlier-question", text: answer.question }),
          el("span", { class: "earlier-answer", text: answer.text.trim() }),
        ),
      ),
    ),
  );
}

function stop() {
  running?.controller.abort();
}

/** Another collection was chosen: its answers are other answers. */
export function turnTo() {
  stop();
  running = null;
  busy(false);
  show(byId("answer"), false);
  show(byId("evidence"), false);
  listEarlier(null);
}

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

function grow() {
  const field = byId("question");
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${field.scrollHeight + 2}px`);
}

export function startAsking() {
  const form = byId("ask-form");
  const field = byId("question");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const question = field.value.trim();
    if (question) {
      ask(question);
      // What is typed next is another question: it takes the place of this one.
      field.select();
    } else field.focus();
  });
  field.addEventListener("input", grow);
  window.addEventListener("resize", grow);
  field.addEventListener("keydown", (event) => {
    // While an input method composes a character, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  byId("stop-button").addEventListener("click", () => {
    stop();
    field.focus();
  });
  document.addEventListener("keydown", (event) => {
    // An open dialog takes Escape for itself.
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    stop();
  });
}
