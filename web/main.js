// The page begins here: every part is started, the server is asked whether it is ready, and the chosen collection is opened.

import { startAbout } from "./about.js";
import * as api from "./api.js";
import { refresh, resumeQuestion, startAsking, stop, turnTo } from "./ask.js";
import { choose, loadCollections, openCollections, startCollections } from "./collections.js";
import { clearShelf, loadShelf, openShelf, pointTo, startShelf, tellShelf } from "./documents.js";
import { byId, settled } from "./dom.js";
import { startGallery } from "./gallery.js";
import { house, isReady, lost, startWeather, whenBack } from "./house.js";
import { dropJobs, loadJobs, startPress, turnPress } from "./jobs.js";
import { startKey } from "./key.js";
import { startKeys } from "./keys.js";
import { showExamples, showReader } from "./question.js";
import { elsewhere } from "./shelves.js";
import { loadStorage } from "./storage.js";
import { startViewer } from "./viewer.js";

/** Milliseconds that arrivals are gathered for: a folder's files come in one after the other. */
const GATHER = 250;

let firstLook = true;
let begun = false;

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
  await Promise.all([loadReader(), loadCollections()]);
  // A server that was away and is back takes nothing off the screen.
  if (!begun) turnTo();
  begun = true;
  await Promise.all([loadShelf(), loadJobs(), loadStorage()]);
  resumeQuestion();
}

/** Documents that came in and are not on the shelf yet. */
let arrivals = [];
const shelve = settled(() => {
  const mine = arrivals.filter((job) => job.collection === house.collection && job.document);
  const members = arrivals.some((job) => job.collection === house.collection && !job.document);
  arrivals = [];
  if (mine.length || members) loadShelf(mine.map((job) => job.document));
  else loadCollections();
  loadStorage();
}, GATHER);

startKey();
startWeather();
startCollections({
  opened: () => {
    clearShelf();
    turnPress();
    turnTo();
    firstLook = true;
    loadShelf();
    loadJobs();
  },
  listed: (list, row) => {
    tellShelf(row);
    pointTo(elsewhere(list, house.collection), choose);
  },
  removed: (name) => {
    dropJobs(name);
    loadStorage();
  },
});
startShelf(
  (documents) => {
    // An empty shelf is the first thing to see to; a full one makes room for the question on a narrow screen.
    if (firstLook) openShelf(documents.length === 0);
    firstLook = false;
    loadCollections();
    showExamples(documents);
  },
  (document) => {
    refresh();
    if (document) loadStorage();
  },
);
startPress((job) => {
  arrivals.push(job);
  shelve();
});
startViewer();
startGallery();
startAsking();
startAbout();
startKeys(
  {
    "/": () => byId("question").focus(),
    f: () => {
      openShelf(true);
      (byId("filter-row").hidden ? byId("shelf-title") : byId("filter")).focus();
    },
    u: () => byId("files").click(),
    c: openCollections,
    n: () => { if (!byId("talk-new").hidden) byId("talk-new").click(); },
  },
  stop,
);
whenBack(load);
load();
