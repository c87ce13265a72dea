// The collections there are go in; which of them to open, and which to name on an empty shelf, comes out.

const KEY = "quire-collection";

const filled = (list) => list.filter((one) => one.documents > 0);

/** The collection that was opened last, or "". A browser may forbid storage; then nothing is remembered. */
export function lastUsed() {
  try {
    return localStorage.getItem(KEY) || "";
  } catch {
    return "";
  }
}

export function remember(name) {
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // Without storage the next visit begins at the first collection that has documents.
  }
}

/** What to open where the address names none: "default", else `last`, else the first, each only if it has documents. */
export function firstToOpen(list, last) {
  const names = filled(list).map((one) => one.name);
  return ["default", last].find((name) => names.includes(name)) || names[0] || "default";
}

/** Another collection than `name` that has documents, or null. */
export function elsewhere(list, name) {
  const others = filled(list).filter((one) => one.name !== name);
  return others.find((one) => one.name === lastUsed()) || others[0] || null;
}
