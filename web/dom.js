// Small words for the DOM: text goes in as text, and only as text. Nothing here, or anywhere in this folder, takes markup from a string.

/** The element of that id. A page without it is broken, and says so at once. */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`The page has no element #${id}.`);
  return node;
}

const there = (child) => child !== null && child !== undefined && child !== false && child !== "";

/**
 * A new element. `facts` may hold `class`, `text`, `on` ({event: handler}), `vars` ({"--name": value}, set through CSSOM),
 * booleans (present or absent) and plain attributes. `children` are nodes or strings; null, false and "" are left out.
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
  node.append(...children.filter(there));
  return node;
}

/** Put `children` in the place of whatever the node held. */
export function fill(node, ...children) {
  node.replaceChildren(...children.filter(there));
  return node;
}

const SVG = document.documentElement.querySelector("svg")?.namespaceURI;

/** One of the drawings that index.html keeps as symbols. It says nothing to a screen reader: its button has a name. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** A button that is only a drawing: `label` is its name, and its tip. */
export function iconButton(name, label, click, facts = {}) {
  const { class: more = "", ...rest } = facts;
  return el("button", { type: "button", class: `icon-button ${more}`.trim(), "aria-label": label, title: label, on: { click }, ...rest }, icon(name));
}

export function show(node, visible = true) {
  node.hidden = !visible;
}

/** Set the text, unless it is that already: a live region would read it again. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A pair for a description list. */
export function pair(term, ...details) {
  return el("div", {}, el("dt", { text: term }), el("dd", {}, ...details));
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
    // Pressed inside and let go outside (a selection that ran over) is no click on the backdrop.
    let pressed = null;
    dialog.addEventListener("pointerdown", (event) => { pressed = event.target; });
    dialog.addEventListener("click", (event) => { if (event.target === dialog && pressed === dialog) dialog.close(); });
    for (const button of dialog.querySelectorAll("[data-close]")) button.addEventListener("click", () => dialog.close());
  }
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

/** Let go of what a dialog showed, once it is closed. The event comes after the closing: by then it may be open again, and show something else. */
export function whenClosed(dialog, letGo) {
  dialog.addEventListener("close", () => { if (!dialog.open) letGo(); });
}

/** `work`, run once, `pause` milliseconds after the last call. */
export function settled(work, pause) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, pause);
  };
}
