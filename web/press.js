// One file on its way goes in (where it stands, or why it failed); its row, with what a person can do about it, comes out.

import { byId, el, iconButton, say, show } from "./dom.js";
import { count, figure, size } from "./figures.js";
import { pagesOf } from "./forecast.js";
import { house } from "./house.js";

/** The legs of the way, in order, each with the stages that the server calls it by, and its words. */
const LEGS = [
  { words: "sending", stages: [] },
  { words: "parsing", stages: ["", "load", "chunk"] },
  { words: "rendering", stages: ["paginate", "rasterise", "ocr"] },
  { words: "compiling", stages: ["compile", "patch", "store"] },
  { words: "indexing", stages: ["index"] },
];
const WORDS = { ocr: "reading (OCR)", patch: "patching", store: "storing" };

/** Did it fail on its way, or was it turned away at the door? */
export const failed = (entry) => entry.state === "failed" || entry.state === "refused";

/** What became of an archive's files, by state. */
export function tally(members = []) {
  const said = ["done", "failed", "skipped"].map((state) => [state, members.filter((one) => one.state === state).length]).filter(([, n]) => n > 0);
  return said.map(([state, n]) => `${figure(n)} ${state === "done" ? "ready" : state}`).join(", ");
}

const membersOf = (entry) => (entry.job && entry.job.detail && entry.job.detail.members) || [];

/** Did some of its files go in, and some not? */
export const partly = (entry) => ["done", "failed"].includes(entry.state) && membersOf(entry).some((one) => one.state === "done") && membersOf(entry).some((one) => one.state === "failed");

/** Where it stands, in words. */
export function statusOf(entry) {
  const { job, state } = entry;
  if (state === "waiting") return "waiting to be sent";
  if (state === "held") return entry.until === null ? "waiting for the server to come back" : `the server is busy; sent again in ${entry.until} s`;
  if (state === "sending") return entry.sent < 1 && entry.file.size > 1e6 ? `sending ${size(entry.sent * entry.file.size)} of ${size(entry.file.size)}` : "sending";
  if (partly(entry)) return tally(membersOf(entry));
  if (failed(entry)) return entry.error || "It failed, and gave no reason.";
  if (entry.stopping) return "cancelling …";
  if (state === "queued") return "queued";
  const members = tally(membersOf(entry));
  if (state === "done") return members || (job.detail && job.detail.skipped ? "ready: it was there already" : "ready");
  const word = WORDS[job.stage] || leg(entry).words;
  const { done, total } = pagesOf(job, house.dpis.length);
  // Patches are counted as patches: a page may have several, or none.
  const of = job.stage === "patch" ? figure(total) : count(total, "page");
  const at = total > 0 ? `${word} ${figure(done)} of ${of}` : word;
  return members ? `${at}; so far ${members}` : at;
}

function leg(entry) {
  if (entry.state !== "running") return LEGS[0];
  return LEGS.find((one) => one.stages.includes(entry.job.stage)) || LEGS[1];
}

/** The share of each leg that is behind the file, 0 to 1. */
function shares(entry) {
  if (entry.state === "done") return LEGS.map(() => 1);
  if (entry.state === "sending") return LEGS.map((_, at) => (at === 0 ? entry.sent : 0));
  if (entry.state === "queued") return LEGS.map((_, at) => (at === 0 ? 1 : 0));
  if (entry.state !== "running") return LEGS.map(() => 0);
  const now = LEGS.indexOf(leg(entry));
  const { done, total } = entry.job;
  return LEGS.map((_, at) => (at < now ? 1 : at > now ? 0 : entry.job.stage === "patch" ? 1 : total ? done / total : 0));
}

/**
 * Draw an entry, in place: a button that has the focus keeps it while the numbers move.
 * `acts` is what its buttons do: cancel, retry, replace and dismiss, each given the entry.
 */
export function drawRow(entry, acts) {
  if (!entry.node) build(entry, acts);
  const bad = failed(entry);
  const over = entry.state === "done";
  entry.node.className = `press-row ${partly(entry) ? "partly" : bad ? "failed" : over ? "ready" : entry.state}`;
  entry.node.dataset.state = entry.state;
  say(entry.title, entry.name);
  entry.title.title = entry.name;
  say(entry.status, [entry.collection === house.collection ? "" : `for ${entry.collection}:`, statusOf(entry), entry.trouble].filter(Boolean).join(" "));
  show(entry.rail, !bad && !over);
  const parts = shares(entry);
  const now = entry.state === "running" ? LEGS.indexOf(leg(entry)) : entry.state === "sending" ? 0 : -1;
  [...entry.rail.children].forEach((part, at) => {
    part.style.setProperty("--share", String(parts[at]));
    part.classList.toggle("now", at === now);
  });
  entry.rail.setAttribute("aria-valuenow", String(Math.round((100 * parts.reduce((sum, one) => sum + one, 0)) / LEGS.length)));
  entry.rail.setAttribute("aria-valuetext", statusOf(entry));
  show(entry.stop, !bad && !over && !entry.stopping);
  show(entry.again, bad && !entry.final && entry.kind !== "NameTaken");
  show(entry.over, bad && entry.kind === "NameTaken" && Boolean(entry.file));
  show(entry.away, bad || over);
  drawMembers(entry);
}

function build(entry, acts) {
  entry.title = el("p", { class: "press-name" });
  entry.status = el("p", { class: "press-status" });
  entry.rail = el("div", { class: "rail", role: "progressbar", "aria-label": `Progress of ${entry.name}`, "aria-valuemin": "0", "aria-valuemax": "100" }, ...LEGS.map(({ words }) => el("span", { title: words })));
  entry.stop = iconButton("close", `Cancel ${entry.name}`, () => acts.cancel(entry));
  entry.away = iconButton("close", `Dismiss ${entry.name}`, () => acts.dismiss(entry));
  entry.again = el("button", { type: "button", class: "small-button", text: "Try again", "aria-label": `Try ${entry.name} again`, on: { click: () => acts.retry(entry) } });
  entry.over = el("button", { type: "button", class: "small-button", text: "Replace the other", "aria-label": `Replace the other ${entry.name}`, on: { click: () => acts.replace(entry) } });
  entry.members = el("details", { class: "members", hidden: true }, el("summary", { text: "What was in it" }), el("ul", {}));
  entry.node = el("li", {}, entry.title, el("div", { class: "press-act" }, entry.stop, entry.away), entry.status, entry.rail, el("div", { class: "row-buttons" }, entry.again, entry.over), entry.members);
  byId("press-list").append(entry.node);
}

function drawMembers(entry) {
  const members = membersOf(entry);
  show(entry.members, members.length > 0);
  const list = entry.members.lastElementChild;
  // Most changes of a job are numbers; its members are drawn anew only when they are others.
  const drawn = members.map((one) => `${one.state} ${one.name}`).join("\n");
  if (list.dataset.drawn === drawn) return;
  list.dataset.drawn = drawn;
  list.replaceChildren(...members.map((one) => member(one, entry.name)));
}

/** A file of an archive; its own name is said once, and the archive's not at all. */
function member({ name, state, error }, archive) {
  const short = name.startsWith(`${archive}/`) ? name.slice(archive.length + 1) : name;
  const why = error && error.startsWith(`${name}: `) ? error.slice(name.length + 2) : error;
  return el("li", { class: `member ${state}` }, el("span", { class: "member-name", text: short, title: short }), el("span", { class: "member-state", text: state === "done" ? "ready" : why ? `${state}: ${why}` : state }));
}
