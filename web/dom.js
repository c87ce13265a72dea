// Small words for the DOM: text goes in as text, and only as text. Nothing here, or anywhere in this folder, takes markup from a string.

/** The element of that id. A page without it is broken, and says so at once. */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`The page has no element #${id}.`);
  return node;
}

/**
 * A new element. `facts` may hold `class`, `text`, `on` ({event: handler}), `vars` ({"--name": value}, set through CSSOM),
 * booleans (present or absent) and plain attributes. `children` are nodes or strings; null and false are left out.
 */
export function el(tag, facts = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(facts)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "text") node.textContent = value;
    else if (key === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (key === "vars") for (const [name, amount] of Object.entries(value)) node.style.setProperty(name, amount);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Put `children` in the place of whatever the node held. */
export function fill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function show(node, visible = true) {
  node.hidden = !visible;
}

/** A pair for a description list. */
export function pair(term, ...details) {
  return el("div", {}, el("dt", { text: term }), el("dd", {}, ...details));
}

/** "1 page", "3 pages". */
export function count(n, noun, plural = `${noun}s`) {
  return `${n.toLocaleString("en-GB")} ${n === 1 ? noun : plural}`;
}

export function size(bytes) {
  if (bytes < 1024) return count(bytes, "byte");
  const units = ["KiB", "MiB", "GiB"];
  let amount = bytes / 1024;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${amount.toFixed(amount < 10 ? 1 : 0)}\u00a0${units[unit]}`;
}

export function seconds(s) {
  if (s < 0.001) return "<\u00a01\u00a0ms";
  if (s < 0.9995) return `${Math.round(s * 1000)}\u00a0ms`;
  return `${s.toFixed(s < 10 ? 2 : 1)}\u00a0s`;
}

/** Say something to screen readers, politely. */
export function announce(text) {
  const region = byId("announcer");
  region.textContent = "";
  // The same sentence twice in a row is only read again if the region was empty in between.
  requestAnimationFrame(() => { region.textContent = text; });
}

/** Open a dialog over the page; a click on its backdrop closes it. Escape and focus are the browser's own work. */
export function openDialog(dialog) {
  if (!dialog.dataset.ready) {
    dialog.dataset.ready = "yes";
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    for (const button of dialog.querySelectorAll("[data-close]")) button.addEventListener("click", () => dialog.close());
  }
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}
