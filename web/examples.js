// Lines of documents go in; a few questions that those lines answer come out, in words the small reader was taught.

import * as api from "./api.js";

const FORMS = [
  [/^The ([a-z]+) of (.{2,40}?) is (.+?)\.?$/, (attribute, thing) => `Tell me the ${attribute} of ${thing}.`],
  [/^(.{2,40}?)'s ([a-z]+) is (.+?)\.?$/, (thing, attribute) => `Which ${attribute} does ${middle(thing)} have?`],
  [/^([A-Z].{1,40}?) has ([a-z]+) (.+?)\.?$/, (thing, attribute) => `Tell me the ${attribute} of ${middle(thing)}.`],
  [/^([A-Z][^:,]{1,40}), ([a-z]+): (.+?)\.?$/, (thing, attribute) => `Which ${attribute} does ${middle(thing)} have?`],
  [/^([A-Z][^:,]{1,40}): ([a-z]+) (.+?)\.?$/, (thing, attribute) => `Tell me the ${attribute} of ${middle(thing)}.`],
];
const ROW = /^ +(?:its )?([a-z]+)(?: is|:) (.+)$/;
const HEADING = /^([A-Z][^:]{1,40}):$/;

const COLOURS = /^(Red|Blue|Green|Black|White|Yellow|Purple|Orange|Silver|Golden|Brown|Gray) [a-z]/;

/** A thing as it stands within a sentence: "The gray farm", or "Gray farm" over its rows, is "the gray farm" there; a name stays. */
function middle(thing) {
  if (COLOURS.test(thing)) return `the ${thing[0].toLowerCase()}${thing.slice(1)}`;
  return thing.replace(/^The /, "the ");
}

/** Questions that `lines` answer, at most `most`; none where no line has one of the known forms. */
export function questionsFrom(lines, most) {
  const found = [];
  let heading = "";
  for (const line of lines) {
    const row = ROW.exec(line);
    const head = HEADING.exec(line);
    if (head) heading = head[1];
    else if (row && heading) found.push(`Which ${row[1]} does ${middle(heading)} have?`);
    else {
      for (const [form, question] of FORMS) {
        const match = form.exec(line);
        if (!match) continue;
        found.push(question(match[1], match[2]));
        break;
      }
    }
  }
  // Spread over the page: neighbouring lines are often about one thing.
  const step = Math.max(1, Math.floor(found.length / most));
  return found.filter((_, at) => at % step === 0).slice(0, most);
}

/** Up to three questions out of the first pages of the first documents. */
export async function examplesOf(documents) {
  const questions = [];
  for (const document of documents.filter((one) => one.pages > 0).slice(0, 3)) {
    const { page_list: pages } = await api.documentOf(document.id);
    if (!pages.length) continue;
    const { lines } = await api.page(pages[0].page);
    questions.push(questionsFrom(lines.map((line) => line.text), 2));
  }
  // One of each document first, then a second one of the earliest.
  return [...new Set([...questions.map((some) => some[0]), ...questions.map((some) => some[1])].filter(Boolean))].slice(0, 3);
}
