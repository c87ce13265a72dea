// Answers go in; they are kept in this browser, by collection, and come out again at the next visit. Nothing of them is kept on the server.

import { forgetNamed, keep, kept } from "./keep.js";

/** The most answers that are kept of a collection. */
const MOST = 60;

const BEGINNING = "quire-history:";
const nameOf = (collection) => `${BEGINNING}${collection}`;

/** Answers of a collection, newest first: [{answer, at}]. */
export function answersOf(collection) {
  const list = kept("local", nameOf(collection), []);
  return Array.isArray(list) ? list.filter((one) => one && one.answer && typeof one.answer.question === "string") : [];
}

/** Keep an answer, newest first. The conversation's id is a secret between this tab and the server, and is not kept. */
export function remember(answer, at = new Date().toISOString()) {
  const plain = answer.conversation ? { ...answer, conversation: { ...answer.conversation, id: "" } } : answer;
  const entry = { answer: plain, at };
  save(answer.collection, [entry, ...answersOf(answer.collection)].slice(0, MOST));
  return entry;
}

function save(collection, list) {
  // A browser's store is a few million characters for all: the oldest half makes room until the rest fits.
  for (let most = list.length; most > 0; most = Math.floor(most / 2)) if (keep("local", nameOf(collection), list.slice(0, most))) return;
  // Nothing fits, or nothing may be kept: then it stays as long as the page does.
  keep("local", nameOf(collection), list.length ? list : null);
}

export function forgetAnswer(collection, at) {
  save(collection, answersOf(collection).filter((one) => one.at !== at));
}

export function forgetAll(collection) {
  keep("local", nameOf(collection), null);
}

/** Of every collection: whoever gives up the key to documents leaves none of their words here. */
export function forgetEverything() {
  forgetNamed("local", BEGINNING);
}

/** A document is gone: so is every answer that was read from it. Returns how many went. */
export function forgetDocument(collection, id) {
  return dropWhere(collection, (cited) => cited === id);
}

/** Only these documents are left in the collection: answers from others go, wherever the others were deleted. Returns how many went. */
export function keepOnly(collection, ids) {
  const there = new Set(ids);
  return dropWhere(collection, (cited) => !there.has(cited));
}

function dropWhere(collection, gone) {
  const before = answersOf(collection);
  const after = before.filter(({ answer }) => !answer.citations.some((one) => gone(one.document)));
  if (after.length < before.length) save(collection, after);
  return before.length - after.length;
}
