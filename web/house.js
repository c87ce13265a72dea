// What all parts of the page share: the chosen collection, the reader's card, and whether the server answers.

import * as api from "./api.js";
import { byId, show } from "./dom.js";

export const house = {
  collection: "default",
  /** GET /model, or null while it is not known. */
  model: null,
  get dpis() { return this.model ? this.model.dpis : []; },
};

const AWAY = "The server does not answer. This page tries again by itself.";
/** Milliseconds between two tries; each wait is half as long again as the one before, up to the longest. */
const FIRST_WAIT = 1500;
const LONGEST_WAIT = 15000;

let waiting = null;
let comeBack = () => {};

/** Run `back` whenever the server answers again after it was away or not ready. */
export function whenBack(back) {
  comeBack = back;
}

/** Is this error the server's absence? Then the banner goes up and the page waits for its return. Returns whether it was. */
export function lost(error) {
  if (!(error instanceof api.ApiError) || !error.away) return false;
  weather(AWAY);
  wait();
  return true;
}

/** True when the server is there and ready; otherwise says so in the banner and keeps asking until it is. */
export async function isReady() {
  try {
    await api.ready();
  } catch (error) {
    if (!lost(error)) {
      weather(error.status === 503 ? `Quire is not ready yet: ${error.message}` : error.message, true);
      wait();
    }
    return false;
  }
  calm();
  return true;
}

function weather(text, waking = false) {
  // The banner is an alert: writing the same sentence again would have it read out at every try.
  if (byId("weather-text").textContent !== text) byId("weather-text").textContent = text;
  byId("weather").classList.toggle("waking", waking);
  show(byId("weather"));
  document.body.classList.add("is-away");
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
    weather(error.away ? AWAY : `Quire is not ready yet: ${error.message}`, !error.away);
    wait(pause);
    return;
  }
  calm();
  comeBack();
}

export function startWeather() {
  byId("weather-retry").addEventListener("click", () => {
    clearTimeout(waiting);
    waiting = null;
    again(FIRST_WAIT);
  });
}
