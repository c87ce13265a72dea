// Collections: the list comes in; one is chosen at the head of the page, and all of them can be made, pinned and deleted in their own dialog.

import * as api from "./api.js";
import { announce, byId, el, fill, icon, iconButton, openDialog, show } from "./dom.js";
import { count, figure, size } from "./figures.js";
import { forgetAll, answersOf } from "./history.js";
import { house, lost } from "./house.js";
import { collectionSlip } from "./receipts.js";
import { firstToOpen, lastUsed, remember } from "./shelves.js";
import { askSure } from "./sure.js";

let list = [];
/** Is it known which collection to open? The address or the person says so, or else what the server has. */
let known = false;
/** How many times the list was asked for, and which of them is shown: an answer that was overtaken by a later one says what was. */
let asked = 0;
let shown = 0;
let acts = { opened: () => {}, listed: () => {}, removed: () => {} };

const rowOf = (name) => list.find((one) => one.name === name) || null;

/** Ask for the list anew. Returns whether it came. */
export async function loadCollections() {
  const mine = ++asked;
  let found;
  try {
    found = await api.collections();
  } catch (error) {
    if (!lost(error)) trouble(error.message);
    return false;
  }
  if (mine < shown) return true;
  shown = mine;
  list = found;
  if (!known) {
    known = true;
    house.collection = firstToOpen(list, lastUsed());
  }
  draw();
  acts.listed(list, rowOf(house.collection));
  return true;
}

function draw() {
  const names = new Set([...list.map((one) => one.name), house.collection]);
  const options = [...names].sort().map((name) => {
    const row = rowOf(name);
    const option = el("option", { value: name, text: row ? `${name} (${figure(row.documents)})` : name });
    option.selected = name === house.collection;
    return option;
  });
  fill(byId("collection"), ...options);
  show(byId("collections-none"), list.length === 0);
  // A row in which somebody is about to decide keeps still.
  if (!byId("collections-list").querySelector(".asking-removal")) fill(byId("collections-list"), ...[...list].sort((a, b) => (a.name < b.name ? -1 : 1)).map(row));
}

export function choose(name) {
  known = true;
  remember(name);
  if (name === house.collection) return;
  house.collection = name;
  const address = new URL(location.href);
  // Even "default" is named: an address without a name may open another one.
  address.searchParams.set("collection", name);
  history.replaceState(null, "", address);
  draw();
  acts.opened(rowOf(name));
}

function trouble(text) {
  byId("collections-trouble").textContent = text;
  show(byId("collections-trouble"), text !== "");
}

function row(one) {
  const node = el("li", { class: one.name === house.collection ? "collection-row here" : "collection-row" });
  const plain = () =>
    fill(
      node,
      el(
        "button",
        { type: "button", class: "collection-name", "aria-current": one.name === house.collection ? "true" : null, on: { click: () => { byId("collections").close(); choose(one.name); } } },
        el("span", { class: "document-name", text: one.name }),
        el("span", { class: "document-facts soft" }, el("span", { text: count(one.documents, "document") }), el("span", { text: count(one.pages, "page") }), el("span", { text: size(one.bytes ?? 0) })),
      ),
      el("button", { type: "button", class: "pin", "aria-pressed": String(Boolean(one.pinned)), "aria-label": `Pin ${one.name}`, title: one.pinned ? "Pinned: its sharp caches stay when the disk gets full" : "Pin it: its sharp caches stay when the disk gets full", on: { click: () => pin(one) } }, icon("pin"), one.pinned ? "Pinned" : "Pin"),
      iconButton("bin", `Delete the collection ${one.name}`, sure, { class: "remove" }),
    );
  const sure = () =>
    askSure(node, {
      words: ["Delete ", el("b", { text: one.name }), one.documents ? ` with all its ${count(one.documents, "document")} and ${count(one.pages, "page")}, their caches and patches? This cannot be undone.` : "? It is empty."],
      verb: "Delete all of it",
      back: () => {
        plain();
        node.querySelector(".remove").focus();
      },
      go: () => remove(one, node, plain),
    });
  plain();
  return node;
}

async function pin(one) {
  trouble("");
  try {
    const now = await api.makeCollection(one.name, { pinned: !one.pinned });
    Object.assign(one, now);
    announce(`${one.name} is ${one.pinned ? "pinned" : "no longer pinned"}`);
    draw();
    [...byId("collections-list").querySelectorAll(".pin")].find((node) => node.getAttribute("aria-label") === `Pin ${one.name}`)?.focus();
  } catch (error) {
    lost(error);
    trouble(error.message);
  }
}

async function remove(one, node, plain) {
  trouble("");
  fill(node, el("p", { class: "sure soft" }, "Deleting ", el("b", { text: one.name }), " …"));
  try {
    const receipt = await api.removeCollection(one.name);
    const answers = answersOf(one.name).length;
    forgetAll(one.name);
    collectionSlip(receipt, answers);
    announce(`The collection ${one.name} was deleted`);
  } catch (error) {
    plain();
    lost(error);
    trouble(error.message);
    return;
  }
  byId("collections").close();
  await loadCollections();
  if (one.name === house.collection) {
    const next = firstToOpen(list.filter((other) => other.name !== one.name), "");
    // Where no other has documents, the one that went stays chosen: its shelf must be seen to be empty.
    if (next === one.name) acts.opened(null);
    else choose(next);
  }
  acts.removed(one.name);
  byId("shelf-title").focus();
}

async function make(event) {
  event.preventDefault();
  trouble("");
  const field = byId("naming-name");
  const name = field.value.trim();
  try {
    await api.makeCollection(name);
  } catch (error) {
    lost(error);
    trouble(error.message);
    field.focus();
    return;
  }
  field.value = "";
  byId("collections").close();
  await loadCollections();
  choose(name);
  announce(`The collection ${name} is open`);
}

export function openCollections() {
  trouble("");
  loadCollections();
  openDialog(byId("collections"));
}

/** `opened` is told a collection that was chosen; `listed`, the list and the row of the one at hand; `removed`, one that went. */
export function startCollections(given) {
  acts = given;
  const named = new URL(location.href).searchParams.get("collection");
  known = Boolean(named);
  if (named) remember(named);
  house.collection = named || "default";
  fill(byId("collection"), el("option", { value: house.collection, text: house.collection }));
  byId("collection").addEventListener("change", (event) => choose(event.target.value));
  byId("collections-open").addEventListener("click", openCollections);
  byId("naming-form").addEventListener("submit", make);
}
