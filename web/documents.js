// The shelf: the collection's documents come in, piece by piece, as a list that can be searched, opened and cleared; a deletion shows its receipt.

import * as api from "./api.js";
import { announce, byId, el, fill, iconButton, icon, settled, show } from "./dom.js";
import { count, figure, size } from "./figures.js";
import { openGallery } from "./gallery.js";
import { forgetDocument, keepOnly } from "./history.js";
import { house, lost } from "./house.js";
import { documentSlip } from "./receipts.js";
import { askSure } from "./sure.js";

/** From this many documents on, a list wants a search box; and how many are fetched at a time. */
const MANY = 8;
const PIECE = 40;

let shelf = { documents: [], next: null, wanted: "" };
let fresh = new Set();
/** As in collections.js: what was asked before what is shown comes too late. */
let times = 0;
let shown = 0;
let changed = () => {};
let forgot = () => {};

/** Fetch and show the collection's documents from the first on. `added`: ids that have just come in. */
export async function loadShelf(added = []) {
  const mine = ++times;
  // Kept for whichever answer is shown: this one may be overtaken.
  for (const id of added) fresh.add(id);
  const asked = house.collection;
  const wanted = byId("filter").value.trim();
  let piece;
  try {
    // As many as are shown already: what somebody has unrolled stays unrolled.
    piece = await api.documents(asked, { name: wanted, limit: Math.min(200, Math.max(PIECE, shelf.documents.length)) });
  } catch (error) {
    // A collection comes to be with its first document: until then it is an empty shelf, not a mistake.
    if (error instanceof api.ApiError && error.status === 404) piece = { documents: [], next: null, none: true };
    else {
      if (!lost(error)) state(error.status === 401 ? "The shelf is locked." : error.message, error.status !== 401);
      return;
    }
  }
  if (mine < shown || asked !== house.collection || wanted !== byId("filter").value.trim()) return;
  shown = mine;
  shelf = { documents: piece.documents, next: piece.next || null, wanted, none: piece.none };
  draw();
  fresh = new Set();
  // With the whole list at hand, answers from documents that were deleted elsewhere are known, and go.
  if (!wanted && !shelf.next && keepOnly(asked, shelf.documents.map((one) => one.id))) forgot();
  if (!wanted) changed(shelf.documents);
}

async function more() {
  const asked = house.collection;
  const button = byId("shelf-more");
  button.disabled = true;
  try {
    const piece = await api.documents(asked, { name: shelf.wanted, after: shelf.next, limit: PIECE });
    if (asked !== house.collection) return;
    const from = shelf.documents.length;
    shelf.documents.push(...piece.documents);
    shelf.next = piece.next || null;
    draw();
    byId("documents").children[from]?.querySelector("button")?.focus();
  } catch (error) {
    if (!lost(error)) state(error.message, true);
  } finally {
    button.disabled = false;
  }
}

function state(text, trouble = false) {
  const line = byId("shelf-state");
  line.textContent = text;
  line.classList.toggle("trouble", trouble);
  show(line, text !== "");
}

/** What the collection has in all, as its list says. */
export function tellShelf(row) {
  byId("shelf-count").textContent = row && row.documents ? `${figure(row.documents)}, with ${count(row.pages, "page")}` : "";
  show(byId("filter-row"), Boolean(row && row.documents >= MANY) || shelf.wanted !== "");
}

function draw() {
  const { documents, next, wanted } = shelf;
  byId("drop").classList.toggle("roomy", !documents.length && !wanted);
  // A name may be a slip of the pen in the address: that there is no such collection yet is said.
  const empty = shelf.none && house.collection !== "default" ? `There is no collection “${house.collection}” yet: it begins with its first document.` : "This shelf is empty.";
  if (!documents.length) state(wanted ? "No document has that in its name." : `${empty} Add documents: their pages are laid out and read once. Then ask.`);
  else state("");
  // Files that are on their way say better what is to come.
  byId("shelf-state").classList.toggle("hint", !documents.length && !wanted);
  fill(byId("documents"), ...documents.map(row));
  show(byId("shelf-more"), Boolean(next));
}

function row(one) {
  const node = el("li", { class: fresh.has(one.id) ? "document fresh" : "document" });
  const notes = one.notes.length ? count(one.notes.length, "note") : "";
  const plain = () =>
    fill(
      node,
      el(
        "button",
        { type: "button", class: "document-open", "aria-haspopup": "dialog", title: one.name, on: { click: () => openGallery(one) } },
        el("span", { class: "document-name", text: one.name }),
        el("span", { class: "document-facts soft" }, el("span", { text: count(one.pages, "page") }), el("span", { text: size(one.bytes) }), notes && el("span", { class: "note-count", text: notes })),
      ),
      iconButton("bin", `Delete ${one.name}`, sure, { class: "remove" }),
    );
  const sure = () =>
    askSure(node, {
      words: ["Delete ", el("b", { text: one.name }), " with its pages, their caches and patches? Answers read from it go from this browser too."],
      verb: "Delete",
      back: () => {
        plain();
        node.querySelector(".remove").focus();
      },
      go: () => remove(one, node, plain),
    });
  plain();
  return node;
}

async function remove(one, node, plain) {
  const asked = house.collection;
  fill(node, el("p", { class: "sure soft" }, "Deleting ", el("b", { text: one.name }), " …"));
  try {
    const receipt = await api.remove(one.id);
    const answers = forgetDocument(asked, one.id);
    documentSlip(receipt, answers);
    announce(`${one.name} was deleted`);
    forgot(one.id);
  } catch (error) {
    plain();
    lost(error);
    node.append(el("p", { class: "trouble", role: "alert", text: error.message }));
    return;
  }
  await loadShelf();
  byId("shelf-title").focus();
}

/** `onChange` is told the documents each time the shelf is drawn anew; `onForget`, the id of a document that went, or nothing where answers went. */
export function startShelf(onChange, onForget) {
  changed = onChange;
  forgot = onForget;
  byId("filter").addEventListener("input", settled(() => loadShelf(), 180));
  byId("shelf-more").addEventListener("click", more);
  byId("shelf-title").tabIndex = -1;
  const toggle = byId("shelf-toggle");
  toggle.addEventListener("click", () => openShelf(toggle.getAttribute("aria-expanded") !== "true"));
}

/** On a narrow screen the shelf folds away; on a wide one it is always open. */
export function openShelf(open) {
  const toggle = byId("shelf-toggle");
  toggle.setAttribute("aria-expanded", String(open));
  fill(toggle, open ? "Hide" : "Show", icon(open ? "up" : "down"));
  byId("shelf-body").classList.toggle("folded", !open);
}

/** On an empty shelf, name `other`, a collection that has documents; `open` is told its name. Without one, or on a full shelf, nothing. */
export function pointTo(other, open) {
  const line = byId("elsewhere");
  const wanted = other && !shelf.documents.length && !shelf.wanted;
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
  shelf = { documents: [], next: null, wanted: "" };
  fill(byId("documents"));
  byId("filter").value = "";
  tellShelf(null);
  show(byId("shelf-more"), false);
  state("Opening the shelf …");
}
