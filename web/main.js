// The page begins here: every part is started, the server is asked whether it is ready, and the chosen collection is opened.

import { startAbout } from "./about.js";
import * as api from "./api.js";
import { showExamples, showReader, startAsking, turnTo } from "./ask.js";
import { clearShelf, loadShelf, openShelf, startShelf } from "./documents.js";
import { byId, el, fill, openDialog } from "./dom.js";
import { startGallery } from "./gallery.js";
import { house, isReady, lost, startWeather, whenBack } from "./house.js";
import { clearPress, loadJobs, startPress } from "./jobs.js";
import { startPages } from "./pages.js";

/** Collections that were named here and have no document yet. */
const promised = new Set();
let firstLook = true;

async function loadCollections() {
  let list;
  try {
    list = await api.collections();
  } catch (error) {
    lost(error);
    return;
  }
  const names = new Set([...list.map((one) => one.name), ...promised, house.collection]);
  const options = [...names].sort().map((name) => {
    const known = list.find((one) => one.name === name);
    const option = el("option", { value: name, text: known ? `${name} (${known.documents})` : name });
    option.selected = name === house.collection;
    return option;
  });
  fill(byId("collection"), ...options);
}

async function loadReader() {
  try {
    house.model = await api.model();
  } catch (error) {
    house.model = null;
    lost(error);
  }
  showReader();
}

/** Everything that is shown of the server, anew. */
async function load() {
  if (!(await isReady())) return;
  await Promise.all([loadReader(), loadShelf(), loadJobs()]);
}

function choose(name) {
  if (name === house.collection) return;
  house.collection = name;
  const address = new URL(location.href);
  if (name === "default") address.searchParams.delete("collection");
  else address.searchParams.set("collection", name);
  history.replaceState(null, "", address);
  clearPress();
  clearShelf();
  turnTo();
  firstLook = true;
  loadShelf();
  loadJobs();
}

function startCollections() {
  house.collection = new URL(location.href).searchParams.get("collection") || "default";
  fill(byId("collection"), el("option", { value: house.collection, text: house.collection }));
  byId("collection").addEventListener("change", (event) => choose(event.target.value));
  byId("collection-new").addEventListener("click", () => {
    byId("naming-name").value = "";
    openDialog(byId("naming"));
    byId("naming-name").focus();
  });
  byId("naming-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = byId("naming-name").value.trim();
    promised.add(name);
    byId("naming").close();
    choose(name);
  });
}

startWeather();
startCollections();
startShelf((documents) => {
  // An empty shelf is the first thing to see to; a full one makes room for the question on a narrow screen.
  if (firstLook) openShelf(documents.length === 0);
  firstLook = false;
  loadCollections();
  showExamples(documents);
});
startPress((job) => {
  if (job.collection === house.collection) loadShelf([job.document]);
});
startPages();
startGallery();
startAsking();
startAbout();
whenBack(load);
load();
