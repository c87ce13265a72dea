// What a deletion took with it goes in, as the server tells it; a receipt that lists all of it comes out, to be read and put away.

import { byId, el } from "./dom.js";
import { count, figure, size } from "./figures.js";

/** Names of things that are listed, at most; the number is always whole. */
const LISTED = 200;

/** What a receipt may count, in the order it is told. A count the server adds later is told under its own name. */
const NOUNS = {
  chunks: ["passage"],
  vectors: ["vector"],
  removed_pages: ["page"],
  removed_files: ["file"],
  patches: ["patch", "patches"],
  conversations: ["conversation"],
  jobs: ["upload record"],
  uploads: ["sending key"],
};
const NOT_COUNTS = new Set(["document", "name", "collection", "bytes", "shared_pages", "documents", "artefacts", "left"]);
/** Of what `artefacts` counts, what the receipt's own lists do not. */
const ARTEFACTS = ["patches", "conversations"];

const amount = (value) => (Array.isArray(value) ? value.length : typeof value === "number" ? value : 0);

/** "3 passages, 3 vectors, 3 pages, 12 files", over one receipt or many. */
function gone(receipts) {
  const totals = new Map(Object.keys(NOUNS).map((name) => [name, 0]));
  for (const receipt of receipts) {
    const more = ARTEFACTS.map((name) => [name, receipt.artefacts?.[name]]);
    for (const [name, value] of [...Object.entries(receipt), ...more]) if (!NOT_COUNTS.has(name)) totals.set(name, (totals.get(name) || 0) + amount(value));
  }
  return [...totals].filter(([, n]) => n > 0).map(([name, n]) => (NOUNS[name] ? count(n, ...NOUNS[name]) : `${figure(n)} ${name.replaceAll("_", " ")}`)).join(", ");
}

const listed = (title, names) =>
  names.length > 0 && el("details", { class: "receipt-list" }, el("summary", { text: title }), el("ul", {}, ...names.slice(0, LISTED).map((name) => el("li", {}, el("code", { text: name }))), names.length > LISTED && el("li", { class: "soft", text: `and ${figure(names.length - LISTED)} more` })));

function slip(name, ...lines) {
  const node = el("div", { class: "receipt", role: "group", "aria-label": `Receipt for ${name}` });
  node.append(
    ...lines.filter(Boolean),
    el("button", { type: "button", class: "link", text: "Put the receipt away", "aria-label": `Put the receipt for ${name} away`, on: { click: () => { node.remove(); byId("shelf-title").focus(); } } }),
  );
  byId("receipts").prepend(node);
}

const answersGone = (n) => n > 0 && el("p", { class: "soft", text: `${count(n, "answer")} read from ${n === 1 ? "it" : "them"} went from this browser's history too.` });

/** What could not be removed yet: a receipt that did not say so would lie. */
function left(receipts) {
  const names = receipts.flatMap((receipt) => receipt.left ?? []);
  return names.length > 0 && el("p", { class: "trouble", role: "alert", text: `Not removed yet, and tried again: ${names.join("; ")}` });
}

/** A document's receipt. `answers`: how many went from this browser's history. */
export function documentSlip(receipt, answers) {
  const shared = receipt.shared_pages.length;
  slip(
    receipt.name,
    el("p", {}, "Deleted ", el("b", { text: receipt.name }), ` with all that came of it: ${gone([receipt])}. ${size(receipt.bytes)} are free again.`),
    shared > 0 && el("p", { class: "soft", text: `${count(shared, "page")} ${shared === 1 ? "stays" : "stay"}: another document has ${shared === 1 ? "it" : "them"} too.` }),
    left([receipt]),
    answersGone(answers),
    listed(`The ${count(receipt.removed_files.length, "file")} by name`, receipt.removed_files),
  );
}

/** A collection's receipt: that of each of its documents, and the sum. */
export function collectionSlip(receipt, answers) {
  // The closing one, of what belonged to no document, has files and uploads, and names none.
  const all = receipt.documents;
  const documents = all.filter((one) => one.document);
  // A page that two of its own documents had went with the later one.
  const went = new Set(documents.flatMap((one) => one.removed_pages));
  const shared = new Set(documents.flatMap((one) => one.shared_pages).filter((page) => !went.has(page))).size;
  slip(
    receipt.collection,
    el("p", {}, "Deleted the collection ", el("b", { text: receipt.collection }), documents.length ? ` with ${count(documents.length, "document")}: ${gone(all)}. ${size(receipt.bytes)} are free again.` : ". It was empty."),
    shared > 0 && el("p", { class: "soft", text: `${count(shared, "page")} ${shared === 1 ? "stays" : "stay"}: a document of another collection has ${shared === 1 ? "it" : "them"} too.` }),
    left(all),
    answersGone(answers),
    listed(`The ${count(documents.length, "document")} by name`, documents.map((one) => one.name)),
    listed(`The ${count(all.flatMap((one) => one.removed_files).length, "file")} by name`, all.flatMap((one) => one.removed_files)),
  );
}
