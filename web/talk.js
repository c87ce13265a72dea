// Conversations: whether questions follow one another, and under which id. The id is a secret: it is made here, by chance, and never shown.

import * as api from "./api.js";
import { keep, kept } from "./keep.js";

const MODE = "quire-talk-mode";
const nameOf = (collection) => `quire-talk:${collection}`;

/** Does a question follow the one before it? */
export const talking = () => kept("local", MODE, false) === true;

export function setTalking(on) {
  keep("local", MODE, on);
}

/** The conversation over a collection in this tab: {id, turn, since}, or null. It outlives a reload. */
export const talkOf = (collection) => kept("session", nameOf(collection));

/** The id to ask under: that of the conversation at hand, or a new one. */
export function idFor(collection) {
  const talk = talkOf(collection);
  if (talk) return talk.id;
  const id = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  keep("session", nameOf(collection), { id, turn: 0, since: new Date().toISOString() });
  return id;
}

/** A turn was answered. Returns whether the server began anew where this tab was further: it was started again meanwhile, or let go of it. */
export function took(collection, turn) {
  const talk = talkOf(collection);
  if (!talk) return false;
  keep("session", nameOf(collection), { ...talk, turn });
  return turn <= talk.turn;
}

/** Let go of the conversation, here and on the server. Raises ApiError when the server could not be told; here it is gone all the same. */
export async function drop(collection) {
  const talk = talkOf(collection);
  keep("session", nameOf(collection), null);
  if (!talk || !talk.turn) return;
  try {
    await api.forget(talk.id);
  } catch (error) {
    // Never begun, or let go of already: that is what was wanted.
    if (error.status !== 404) throw error;
  }
}
