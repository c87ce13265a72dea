// What all parts of the page share: the chosen collection, the reader's card, the stock's figures, and whether the server answers.

import * as api from "./api.js";
import { byId, say, show } from "./dom.js";

export const house = {
  collection: "default",
  /** GET /v1/model, or null while it is not known. */
  model: null,
  /** GET /v1/stats, or null while it is not known. */
  stats: null,
  get dpis() { return this.model ? this.model.dpis : []; },
};

const AWAY = "The server does not answer. This page tries again by itself; nothing is lost meanwhile.";
/** Milliseconds between two tries; each wait is half as long again as the one before, up to the longest. */
const FIRST_WAIT = 1500;
const LONGEST_WAIT = 15000;

let waiting = null;
let comeBack = () => {};

/** Run `back` whenever the server answers again after it was away or not ready. */
export function whenBack(back) {
  comeBack = back;
}

/** Is this error the server's absence, or its being half awake? Then the banner goes up and the page waits for it. Returns whether it was. */
export function lost(error) {
  if (!(error instanceof api.ApiError)) throw error;
  if (!error.away && error.type !== "NotReady") return false;
  weather(sentence(error), !error.away);
  wait();
  return true;
}

const sentence = (error) => (error.away ? AWAY : error.status === 503 ? `Quire is getting ready: ${error.message.replace(/^not ready yet: /, "")}.` : error.message);

/** True when the server is there and ready; otherwise says so in the banner and keeps asking until it is. */
export async function isReady() {
  try {
    await api.ready();
  } catch (error) {
    weather(sentence(error), !error.away);
    wait();
    return false;
  }
  calm();
  return true;
}

function weather(text, waking = false) {
  // The banner is an alert: writing the same sentence again would have it read out at every try.
  say(byId("weather-text"), text);
  byId("weather").classList.toggle("waking", waking);
  show(byId("weather"));
  document.body.classList.add("is-away");
}

/** The server asks for a key and nobody has given one: said as calmly as that it is getting ready, until somebody tries again. */
export function shut() {
  weather("This Quire asks for a key; without one it shows nothing.", true);
}

function calm() {
  clearTimeout(waiting);
  waiting = null;
  show(byId("weather"), false);
  document.body.classList.remove("is-away");
}

function wait(pause = FIRST_WAIT) {
  if (waiting !== null) return;
  waiting = setTimeout(async () => {
    waiting = null;
    await again(Math.min(LONGEST_WAIT, pause * 1.5));
  }, pause);
}

async function again(pause) {
  try {
    await api.ready();
  } catch (error) {
    weather(sentence(error), !error.away);
    wait(pause);
    return;
  }
  calm();
  comeBack();
}

export function startWeather() {
  const now = () => {
    clearTimeout(waiting);
    waiting = null;
    again(FIRST_WAIT);
  };
  byId("weather-retry").addEventListener("click", now);
  // The browser knows first that its network is back; that the server is, only the server can say.
  window.addEventListener("online", () => { if (waiting !== null) now(); });
}
