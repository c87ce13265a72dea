// What this browser keeps, by name: JSON goes in, and comes out again. A browser may forbid storage; then a page keeps it as long as it lives.

const inside = { local: new Map(), session: new Map() };

function store(kind) {
  return kind === "local" ? localStorage : sessionStorage;
}

/** The value kept under `name`, or `fallback`: also where what is kept is not JSON, for another hand may have written it. */
export function kept(kind, name, fallback = null) {
  if (inside[kind].has(name)) return inside[kind].get(name);
  try {
    const text = store(kind).getItem(name);
    return text === null ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

/** Forget every value whose name begins so. */
export function forgetNamed(kind, beginning) {
  let names = [...inside[kind].keys()];
  try {
    names = names.concat(Object.keys(store(kind)));
  } catch {
    // What may not be kept is not there either.
  }
  for (const name of names) if (name.startsWith(beginning)) keep(kind, name, null);
}

/** Keep a value; null forgets it. Returns whether the browser took it: it may be full. */
export function keep(kind, name, value) {
  inside[kind].delete(name);
  try {
    if (value === null) store(kind).removeItem(name);
    else store(kind).setItem(name, JSON.stringify(value));
    return true;
  } catch {
    inside[kind].set(name, value);
    return false;
  }
}
