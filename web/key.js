// A server that asks for a key gets one here: a person types it once, it stays for as long as the tab is open, and goes with every request.

import { useKey, whenLocked } from "./api.js";
import { byId, openDialog, show } from "./dom.js";
import { shut } from "./house.js";
import { keep, kept } from "./keep.js";

const NAME = "quire-key";

/** The question that is on screen: every request that meets a locked door waits for the same answer. */
let asking = null;
/** The person would rather not: they are not asked again until they try again. */
let declined = false;

export const hasKey = () => Boolean(kept("session", NAME));

function take(key) {
  keep("session", NAME, key || null);
  useKey(key);
}

/** Resolves to true when there is a key to try, to false when the person would rather not. `refused`: the last one was not taken. */
function ask(refused) {
  if (declined) return Promise.resolve(false);
  asking ??= new Promise((answer) => {
    const dialog = byId("locked");
    const field = byId("locked-key");
    const trouble = byId("locked-trouble");
    trouble.textContent = refused ? "The server does not know that key, or it has been taken back. Type another one." : "";
    show(trouble, refused);
    field.value = "";
    field.setAttribute("aria-invalid", String(refused));
    let given = false;
    const submit = (event) => {
      event.preventDefault();
      given = true;
      take(field.value.trim());
      dialog.close();
    };
    byId("locked-form").addEventListener("submit", submit);
    dialog.addEventListener(
      "close",
      () => {
        byId("locked-form").removeEventListener("submit", submit);
        // What was typed does not stay in the page.
        field.value = "";
        asking = null;
        declined = !given;
        if (declined) shut();
        answer(given);
      },
      { once: true },
    );
    openDialog(dialog);
    field.focus();
  });
  return asking;
}

export function forgetKey() {
  take("");
}

export function startKey() {
  useKey(kept("session", NAME, ""));
  whenLocked(ask);
  byId("weather-retry").addEventListener("click", () => { declined = false; });
}
