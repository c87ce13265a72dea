// A deletion that was asked for goes in; "sure?" stands in the row's own place, and what the person said comes out.

import { el, fill } from "./dom.js";

/**
 * Ask in place of the row's content. `words` are the question's nodes, `verb` what the button says, `back` draws the row as it was and
 * gives the focus back, `go` does it. Escape keeps.
 */
export function askSure(node, { words, verb, back, go }) {
  node.classList.add("asking-removal");
  const keep = () => {
    node.classList.remove("asking-removal");
    node.removeEventListener("keydown", escape);
    back();
  };
  const escape = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    // In a dialog, Escape would close all of it.
    event.preventDefault();
    keep();
  };
  const no = el("button", { type: "button", class: "small-button", text: "Keep", on: { click: keep } });
  const yes = el("button", {
    type: "button",
    class: "small-button danger",
    text: verb,
    on: {
      click: () => {
        node.removeEventListener("keydown", escape);
        node.classList.remove("asking-removal");
        go();
      },
    },
  });
  fill(node, el("p", { class: "sure" }, ...words), el("div", { class: "row-buttons" }, no, yes));
  node.addEventListener("keydown", escape);
  no.focus();
}
