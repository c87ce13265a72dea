// Keys come in; what they stand for happens, wherever on the page they are pressed. "?" shows them all, and there they can be switched off.

import { byId, openDialog } from "./dom.js";
import { keep, kept } from "./keep.js";

const OFF = "quire-keys-off";

/** Whoever dictates or has a tremor presses letters without meaning to: single keys can be switched off. */
const on = () => kept("local", OFF, false) !== true;

const typing = (node) => node instanceof HTMLElement && (node.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=file])") || node.isContentEditable);

/** Arrows go through the buttons of a list, Home and End to its ends. */
function roam(list, selector) {
  list.addEventListener("keydown", (event) => {
    if (!["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key) || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = [...list.querySelectorAll(selector)];
    const at = all.indexOf(event.target);
    if (at < 0) return;
    event.preventDefault();
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    all[Math.min(all.length - 1, Math.max(0, next))].focus();
  });
}

/** `acts` maps a key to what it does: "/", "f", "c", "n", "u"; `stop` is Escape's where no dialog is open. */
export function startKeys(acts, stop) {
  const sheet = byId("keys");
  const open = () => openDialog(sheet);
  byId("keys-open").addEventListener("click", open);
  byId("keys-on").checked = on();
  byId("keys-on").addEventListener("change", (event) => keep("local", OFF, event.target.checked ? null : true));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    // An open dialog takes its keys for itself.
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return stop();
    if (!on() || typing(event.target)) return;
    const act = event.key === "?" ? open : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  roam(byId("documents"), ".document-open");
  roam(byId("earlier-list"), ".earlier-one");
  roam(byId("collections-list"), ".collection-name");
}
