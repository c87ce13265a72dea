// The shelf: the collection's documents come in, as a list that can be searched, opened and cleared; a deletion shows its receipt.

import * as api from "./api.js";
import { announce, byId, count, el, fill, show, size } from "./dom.js";
import { openGallery } from "./gallery.js";
import { house, lost } from "./house.js";

/** From this many documents on, a list wants a search box. */
const MANY = 8;

let documents = [];
let fresh = new Set();
let changed = () => {};

/** Fetch and show the collection's documents. `added`: ids that have just come in. */
export async function loadShelf(added = []) {
  const asked = house.collection;
  let list;
  try {
    list = await api.documents(asked);
  } catch (error) {
    // A collection comes to be with its first document: until then it is an empty shelf, not a mistake.
    if (error instanceof api.ApiError && error.status === 404) list = [];
    else {
      if (!lost(error)) state(error.message, true);
      return;
    }
  }
  if (asked !== house.collection) return;
  documents = list;
  fresh = new Set(added);
  draw();
  changed(documents);
}

function state(text, trouble = false) {
  const line = byId("shelf-state");
  line.textContent = text;
  line.classList.toggle("trouble", trouble);
  show(line, text !== "");
}

function draw() {
  const wanted = byId("filter").value.trim().toLocaleLowerCase();
  const found = documents.filter((one) => one.name.toLocaleLowerCase().includes(wanted));
  const pages = documents.reduce((sum, one) => sum + one.pages, 0);
  byId("shelf-count").textContent = documents.length ? `${documents.length.toLocaleString("en-GB")}, with ${count(pages, "page")}` : "";
  show(byId("filter-row"), documents.length >= MANY);
  byId("drop").classList.toggle("roomy", documents.length === 0);
  if (!documents.length) state("This shelf is empty. Add documents, and their pages are laid out and read once; then ask.");
  else state(found.length ? "" : "No document has that in its name.");
  fill(byId("documents"), ...found.map(row));
}

function row(one) {
  const node = el("li", { class: fresh.has(one.id) ? "document fresh" : "document" });
  const facts = [count(one.pages, "page"), size(one.bytes)].join(" · ");
  const notes = one.notes.length ? count(one.notes.length, "note") : "";
  const plain = () => {
    node.classList.remove("asking-removal");
    fill(
      node,
      el(
        "button",
        { type: "button", class: "document-open", "aria-haspopup": "dialog", on: { click: () => openGallery(one) } },
        el("span", { class: "document-name", text: one.name }),
        el("span", { class: "document-facts soft" }, facts, notes && el("span", { class: "note-count", text: notes })),
      ),
      el("button", { type: "button", class: "link remove", text: "Remove", "aria-label": `Remove ${one.name}`, on: { click: sure } }),
    );
  };
  const sure = () => {
    node.classList.add("asking-removal");
    const keep = el("button", { type: "button", class: "quiet", text: "Keep", on: { click: back } });
    fill(
      node,
      el("p", {}, "Remove ", el("b", { text: one.name }), " with its pages and their caches?"),
      el(
        "div",
        { class: "row-buttons" },
        keep,
        el("button", { type: "button", class: "quiet danger", text: "Remove", on: { click: () => remove(one, node, plain) } }),
      ),
    );
    keep.focus();
  };
  const back = () => {
    plain();
    node.querySelector(".remove").focus();
  };
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && node.classList.contains("asking-removal")) {
      event.stopPropagation();
      back();
    }
  });
  plain();
  return node;
}

async function remove(one, node, plain) {
  fill(node, el("p", { class: "soft" }, "Removing ", el("b", { text: one.name }), " …"));
  try {
    const receipt = await api.remove(one.id);
    byId("receipts").prepend(slip(receipt));
    announce(`${one.name} was removed`);
  } catch (error) {
    plain();
    if (!lost(error)) node.append(el("p", { class: "trouble", role: "alert", text: error.message }));
    return;
  }
  await loadShelf();
  byId("shelf-title").focus();
}

/** A deletion's receipt: what went, and what stays because another document has it too. */
function slip(receipt) {
  const node = el("div", { class: "receipt" });
  const shared = receipt.shared_pages.length;
  const gone = [
    count(receipt.chunks, "passage"),
    count(receipt.vectors, "vector"),
    count(receipt.removed_pages.length, "page"),
    count(receipt.removed_files.length, "file"),
  ].join(", ");
  node.append(
    el("p", {}, "Removed ", el("b", { text: receipt.name }), `: ${gone}; ${size(receipt.bytes)} freed.`),
    shared ? el("p", { class: "soft", text: `${count(shared, "page")} ${shared === 1 ? "stays" : "stay"}: another document has ${shared === 1 ? "it" : "them"} too.` }) : "",
    el("button", { type: "button", class: "link", text: "Dismiss", "aria-label": `Dismiss the receipt for ${receipt.name}`, on: { click: () => node.remove() } }),
  );
  return node;
}

/** `onChange` is told the documents each time the shelf is drawn anew. */
export function startShelf(onChange) {
  changed = onChange;
  byId("filter").addEventListener("input", draw);
  byId("shelf-title").tabIndex = -1;
  const toggle = byId("shelf-toggle");
  toggle.addEventListener("click", () => openShelf(toggle.getAttribute("aria-expanded") !== "true"));
}

/** On a narrow screen the shelf folds away; on a wide one it is always open. */
export function openShelf(open) {
  const toggle = byId("shelf-toggle");
  toggle.setAttribute("aria-expanded", String(open));
  toggle.textContent = open ? "Hide" : "Show";
  byId("shelf-body").classList.toggle("folded", !open);
}

/** On an empty shelf, name `other`, a collection that has documents; `open` is told its name. Without one, or on a full shelf, nothing. */
export function pointTo(other, open) {
  const line = byId("elsewhere");
  const wanted = other && !documents.length;
  if (wanted) {
    const turn = () => {
      open(other.name);
      // The button goes with the empty shelf; the focus must not drop into nowhere.
      byId("shelf-title").focus();
    };
    const go = el("button", { type: "button", class: "link", text: "open it", "aria-label": `Open it: the collection ${other.name}`, on: { click: turn } });
    fill(line, el("b", { text: other.name }), ` has ${count(other.documents, "document")}: `, go, ".");
  }
  show(line, Boolean(wanted));
}

export function clearShelf() {
  show(byId("elsewhere"), false);
  documents = [];
  fill(byId("documents"));
  fill(byId("receipts"));
  byId("filter").value = "";
  byId("shelf-count").textContent = "";
  show(byId("filter-row"), false);
  state("Opening the shelf …");
}
