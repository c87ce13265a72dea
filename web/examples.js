// Lines of documents go in; a few questions that those lines answer come out, in words the small reader was taught.

import * as api from "./api.js";

/** Documents that are looked through for examples, and examples that are offered. */
const DOCUMENTS = 12;
const MOST = 3;

const split = (text) => text.split(" ");

/**
 * The attributes the reader knows, by the kind of value each takes. A sentence of prose may have the form of a record ("The city of
 * Paris is lovely."); only a known word with a value of its kind is surely one.
 */
const COLOURS = split("red blue green black white yellow purple orange silver golden brown gray");
const NOUNS = split(
  "depot station factory museum bridge tower garden school library hotel market farm mine clinic " +
    "temple castle island theater bakery project vessel train pump valve robot drone rocket telescope",
);
const LISTED = {
  color: COLOURS,
  status: split("open closed pending active retired delayed"),
  material: split("steel glass copper wood stone rubber cotton marble"),
  fuel: split("diesel coal gas wood hydrogen"),
  mascot: split("fox owl bear wolf crane otter tiger seal"),
  grade: split("A B C D E F"),
};
const KINDS = [
  [split("owner manager director founder coach captain pilot doctor lawyer editor author chair guide driver keeper"), /^[A-Z][a-z]+ [A-Z][a-z]+$/],
  [split("code password serial license permit locker model"), /^(?=.*[0-9])[A-Za-z0-9-]{3,16}$/],
  [split("price budget rent fee fine salary"), /^\$[0-9][0-9,]*$/],
  [split("city region origin harbor venue"), /^[A-Z][a-z]+$/],
  [split("deadline opening launch audit renewal"), /^(?:[0-9]{1,2} [A-Z][a-z]+ |[A-Z][a-z]+ )?[12][0-9]{3}$|^[0-9]{1,2} [A-Z][a-z]+$/],
  [split("weight length height capacity speed warranty depth voltage power range staff area"), /^[0-9][0-9,.]* [a-z]+$/],
  [split("room floor gate desk platform phone channel"), /^[0-9][0-9-]*$/],
];
const VALUES = new Map([
  ...KINDS.flatMap(([words, value]) => words.map((word) => [word, value])),
  ...Object.entries(LISTED).map(([word, all]) => [word, new RegExp(`^(?:${all.join("|")})$`)]),
]);

/** "Brobo tower", "Criogibat Plimai", "Clifai", or "the green castle"; over its rows, "Green castle". */
const PLAIN = new RegExp(`^(?:[Tt]he )?(${COLOURS.join("|")}) (?:${NOUNS.join("|")})$`, "i");
const NAMED = new RegExp(`^[A-Z][a-z]+(?: [A-Z][a-z]+| (?:${NOUNS.join("|")}))?$`);

const FORMS = [
  [/^The ([a-z]+) of (.+?) is (.+)\.$/, 2, 1],
  [/^(.+?)'s ([a-z]+) is (.+)\.$/, 1, 2],
  [/^(.+?) has ([a-z]+) (.+)\.$/, 1, 2],
  [/^(.+?), ([a-z]+): (.+)\.$/, 1, 2],
  [/^(.+?): ([a-z]+) (.+)\.$/, 1, 2],
];
const ROW = /^ +(?:its )?([a-z]+)(?: is|:) (.+)$/;
const HEADING = /^([A-Z][^:]{1,40}):$/;

/** A thing as it stands within a sentence, "the gray farm" or "Brobo tower"; empty where it is not surely a thing of records. */
function within(thing) {
  if (PLAIN.test(thing)) return `the ${thing.replace(/^the /i, "").toLowerCase()}`;
  return NAMED.test(thing) ? thing : "";
}

/** {thing, attribute} of a line that is surely a record's, or null. */
function record(thing, attribute, value) {
  const named = within(thing);
  return named && VALUES.get(attribute)?.test(value) ? { thing: named, attribute } : null;
}

/** Questions that `lines` answer, at most `most`; none where no line is surely a record. */
export function questionsFrom(lines, most) {
  const found = [];
  let heading = "";
  for (const line of lines) {
    const head = HEADING.exec(line);
    const row = ROW.exec(line);
    if (head) heading = head[1];
    else if (row) {
      const fact = heading && record(heading, row[1], row[2]);
      if (fact) found.push(`Which ${fact.attribute} does ${fact.thing} have?`);
    } else {
      // A line that starts at the margin ends what stood under the heading.
      if (line.trim()) heading = "";
      for (const [form, thing, attribute] of FORMS) {
        const match = form.exec(line.trim());
        const fact = match && record(match[thing], match[attribute], match[3]);
        if (!fact) continue;
        found.push(`Tell me the ${fact.attribute} of ${fact.thing}.`);
        break;
      }
    }
  }
  // Spread over the page: neighbouring lines are often about one thing.
  const step = Math.max(1, Math.floor(found.length / most));
  return found.filter((_, at) => at % step === 0).slice(0, most);
}

/** Up to three questions, one of each document first; the first page of at most twelve documents is looked at. */
export async function examplesOf(documents) {
  const firsts = [];
  const seconds = [];
  for (const document of documents.filter((one) => one.pages > 0).slice(0, DOCUMENTS)) {
    const { page_list: pages } = await api.documentOf(document.id);
    if (!pages.length) continue;
    const { lines } = await api.page(pages[0].page);
    const [first, second] = questionsFrom(lines.map((line) => line.text), 2);
    if (first && !firsts.includes(first)) firsts.push(first);
    if (second) seconds.push(second);
    if (firsts.length >= MOST) break;
  }
  return [...new Set([...firsts, ...seconds])].slice(0, MOST);
}
