// The page begins here: every part is started, the server is asked whether it is ready, and the chosen collection is opened.

import { startAbout } from "./about.js";
import * as api from "./api.js";
import { showExamples, showReader, startAsking, turnTo } from "./ask.js";
import { clearShelf, loadShelf, openShelf, pointTo, startShelf } from "./documents.js";
import { byId, el, fill, openDialog } from "./dom.js";
import { startGallery } from "./gallery.js";
import { house, isReady, lost, startWeather, whenBack } from "./house.js";
import { clearPress, loadJobs, startPress } from "./jobs.js";
import { startPages } from "./pages.js";
import { elsewhere, firstToOpen, lastUsed, remember } from "./shelves.js";

/** Collections that were named here and have no document yet. */
const promised = new Set();
let firstLook = true;
/** Is it known which collection to open? The address or the person says so, or else what the server has. */
let settled = false;

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
  pointTo(elsewhere(list, house.collection), choose);
}

/** Where nobody has named a collection: the one that most likely has what is looked for. */
async function settle() {
  if (settled) return;
  let list;
  try {
    list = await api.collections();
  } catch (error) {
    // The shelf says what is the matter; the next load looks again.
    lost(error);
    return;
  }
  if (settled) return;
  settled = true;
  house.collection = firstToOpen(list, lastUsed());
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
  await settle();
  await Promise.all([loadReader(), loadShelf(), loadJobs()]);
}

function choose(name) {
  settled = true;
  remember(name);
  if (name === house.collection) return;
  house.collection = name;
  // One that was only just named is not in the list yet; the list is made anew when its shelf has been looked at.
  if ([...byId("collection").options].some((option) => option.value === name)) byId("collection").value = name;
  const address = new URL(location.href);
  // Even "default" is named: an address without a name may open another one.
  address.searchParams.set("collection", name);
  history.replaceState(null, "", address);
  clearPress();
  clearShelf();
  turnTo();
  firstLook = true;
  loadShelf();
  loadJobs();
}

function startCollections() {
  const named = new URL(location.href).searchParams.get("collection");
  settled = Boolean(named);
  if (named) remember(named);
  house.collection = named || "default";
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
