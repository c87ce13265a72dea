// A question goes in; it is asked, on its own or in a conversation, waited for where the server is busy, and its answer is shown and kept.

import * as api from "./api.js";
import { begin, clearAnswer, end, present, showPlan, tell, write } from "./answer.js";
import { announce, byId, show } from "./dom.js";
import { count } from "./figures.js";
import { answersOf, remember } from "./history.js";
import { house, lost } from "./house.js";
import { keep, kept } from "./keep.js";
import { listPast, startPast } from "./past.js";
import { budget, startForm } from "./question.js";
import { drop, idFor, setTalking, talking, talkOf, took } from "./talk.js";

/** Errors that mean the same to a person: there is nothing yet to read. */
const NOTHING_TO_READ = new Set(["EmptyCollection", "UnknownCollection"]);
/** How often a question is asked of a busy server before the person is asked. */
const TRIES = 5;
const SECOND = 1000;
const PENDING = "quire-pending";

/** The question being answered: {controller, text, plan}, or null. */
let running = null;
/** The answer on screen, by the moment it was asked; null while there is none. A page that is loaded anew shows it again. */
const shown = () => kept("session", `quire-shown:${house.collection}`);
const setShown = (at) => keep("session", `quire-shown:${house.collection}`, at);

async function ask(question) {
  running?.controller.abort();
  const mine = { controller: new AbortController(), text: "", plan: null, collection: house.collection };
  running = mine;
  setShown(null);
  busy(true);
  begin(question);
  announce("Finding the passages");
  // A page that is loaded anew in the middle asks again.
  keep("session", PENDING, { question, collection: mine.collection });
  for (let tries = 1; running === mine; tries += 1) {
    try {
      await once(mine, question);
      return;
    } catch (error) {
      if (running !== mine) return;
      if (error.name === "AbortError") return stopped(mine, mine.text ? "Stopped. This is what had been written." : "Stopped.", false);
      if (error.later && !mine.text && tries < TRIES && (await waited(mine, error))) continue;
      if (running !== mine) return;
      if (mine.controller.signal.aborted) return stopped(mine, "Stopped.", false);
      lost(error);
      return stopped(mine, sentence(error, mine.collection), true);
    }
  }
}

async function once(mine, question) {
  const talk = talking() ? { conversation: idFor(mine.collection) } : {};
  for await (const { name, data } of api.ask({ question, collection: mine.collection, ...budget(), ...talk }, mine.controller.signal)) {
    if (running !== mine) return;
    if (name === "planned") {
      mine.plan = data.plan;
      showPlan(data);
    } else if (name === "compiling") {
      const words = `Compiling ${count(data.pages.length, "page")} again: the ${data.pages.length === 1 ? "cache" : "caches"} had made room on the disk …`;
      tell(words);
      announce(words);
    } else if (name === "token") {
      mine.text += data.text;
      write(data.text);
    } else if (name === "failed") return stopped(mine, sentence(data.error, mine.collection), true);
    else if (name === "done") return finished(mine, data);
  }
  if (running === mine) stopped(mine, "The connection ended before the answer was whole. Ask again.", true);
}

/** Count down what the server asks to wait. Returns false when the person stopped it. */
async function waited(mine, error) {
  const why = error.status === 429 ? "That was too fast for this server." : "The reader has its hands full.";
  let left = Math.max(1, Math.ceil(error.wait ?? 2));
  announce(`${why} Asked again in ${left} seconds`);
  for (; left > 0; left -= 1) {
    tell(`${why} Asked again in ${left} s …`);
    await new Promise((go) => { setTimeout(go, SECOND); });
    if (running !== mine || mine.controller.signal.aborted) return false;
  }
  tell("Finding the passages …");
  return true;
}

/** An error in words: the server's own, but for those that only say that the shelf is empty. */
function sentence({ type, message }, collection) {
  if (NOTHING_TO_READ.has(type)) return `The collection “${collection}” has no documents yet. Add some, or open another collection; then ask.`;
  return message;
}

function busy(is) {
  show(byId("ask-button"), !is);
  show(byId("stop-button"), is);
}

function over() {
  running = null;
  keep("session", PENDING, null);
  busy(false);
}

function stopped(mine, words, trouble) {
  over();
  end(words, trouble, mine.plan !== null);
  announce(words);
}

function finished(mine, answer) {
  over();
  const turn = answer.conversation;
  const anew = turn && took(mine.collection, turn.turn);
  const { at } = remember(answer);
  setShown(at);
  present(answer, null, anew ? "The server had let go of the conversation: it began anew with this question." : "");
  listPast(at, sinceOf());
  showTalk();
}

// --- conversations

/** The moment since which the conversation at hand runs, or null. */
const sinceOf = () => (talking() && talkOf(house.collection) ? talkOf(house.collection).since : null);

function showTalk() {
  byId("talk").checked = talking();
  const talk = talking() ? talkOf(house.collection) : null;
  const turns = talk ? talk.turn : 0;
  byId("talk-state").textContent = turns ? `${count(turns, "turn")} so far` : "";
  show(byId("talk-new"), turns > 0);
}

async function newTalk() {
  stop();
  try {
    await drop(house.collection);
    announce("A new conversation: the server has let go of the old one");
  } catch (error) {
    if (!lost(error)) announce(error.message);
  }
  clearAnswer();
  setShown(null);
  showTalk();
  listPast(null, null);
  byId("question").focus();
}

// --- the parts around it

export function stop() {
  running?.controller.abort();
}

/** Another collection was chosen: its answers are other answers. */
export function turnTo() {
  stop();
  if (running) over();
  clearAnswer();
  showTalk();
  const last = answersOf(house.collection).find((one) => one.at === shown());
  if (last) present(last.answer, last.at);
  listPast(last ? last.at : null, sinceOf());
}

/** Answers were forgotten, or documents: of an answer that is not kept any more nothing stays in sight. */
export function refresh() {
  const at = shown();
  const still = answersOf(house.collection).some((one) => one.at === at);
  if (!still && !running) clearAnswer();
  listPast(still ? at : null, sinceOf());
}

/** A question that was on its way when the page was loaded anew is asked again; one that was only typed stands there again. */
export function resumeQuestion() {
  const pending = kept("session", PENDING);
  if (!pending || running || pending.collection !== house.collection) return;
  ask(pending.question);
}

export function startAsking() {
  startForm(ask, stop);
  startPast({
    opened: (answer, at) => {
      stop();
      if (running) over();
      setShown(at);
      present(answer, at);
      listPast(at, sinceOf());
      byId("answer-question").focus();
      byId("answer").scrollIntoView({ block: "nearest" });
    },
    emptied: refresh,
  });
  byId("answer-question").tabIndex = -1;
  byId("talk").addEventListener("change", (event) => {
    setTalking(event.target.checked);
    showTalk();
    listPast(shown(), sinceOf());
  });
  byId("talk-new").addEventListener("click", newTalk);
  showTalk();
}
