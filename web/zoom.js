// A row of sizes goes in; two buttons and a word come out, by which a person goes from one to the next; + and - and 0 do the same.

import { el, fill, iconButton } from "./dom.js";

/** A zoom over `levels` ([{word, value}]); `changed` is told the value of the one that was chosen, also at the start. */
export class Zoom {
  constructor(box, levels, changed, start = 0) {
    Object.assign(this, { levels, changed, start, at: start });
    this.out = iconButton("minus", "Smaller", () => this.step(-1));
    this.in = iconButton("plus", "Larger", () => this.step(1));
    this.word = el("output", { class: "zoom-word" });
    fill(box, this.out, this.word, this.in);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Size");
    this.go(start);
  }

  go(at) {
    this.at = Math.min(this.levels.length - 1, Math.max(0, at));
    const level = this.levels[this.at];
    this.word.textContent = level.word;
    this.out.disabled = this.at === 0;
    this.in.disabled = this.at === this.levels.length - 1;
    this.changed(level.value);
  }

  step(by) {
    this.go(this.at + by);
  }

  /** Take a key that is the zoom's own. Returns whether it was. */
  take(key) {
    if (key === "+" || key === "=") this.step(1);
    else if (key === "-") this.step(-1);
    else if (key === "0") this.go(this.start);
    else return false;
    return true;
  }
}
