// A citation and its pick go in; the words that a person reads for them come out: where the page stands, why it was read, what a mark means.

export const WHY = {
  relevant: { word: "relevant", title: "Among the most relevant: read sharp" },
  fallback: { word: "fallback", title: "Nothing stood out; the nearest passage was read sharp" },
  context: { word: "context", title: "Beside the most relevant: read at low resolution" },
  uniform: { word: "uniform", title: "Every page was read at this resolution" },
  kept: { word: "kept", title: "It stood there from an earlier question of the conversation" },
};

/** What a mark says. Words that stand on a page are no proof that the answer is right. */
export const MARK = { holds: "the answer's own words stand here", closest: "nearest to the question", whole: "a picture: what it says is not known as text" };

/** Is all of the page marked? So is a picture on which no text is known: the answer may stand anywhere on it. */
export const isWhole = ({ box: [left, top, right, bottom] }, { width, height }) => left <= 0 && top <= 0 && right >= width && bottom >= height;

/** Where a page stands, in words: its printed page and heading, as far as they are known. */
export function place({ source_page: printed, heading }) {
  return [printed ? `page ${printed}` : "", heading ? heading.replace(/:$/, "") : ""].filter(Boolean).join(" · ");
}

/**
 * What is known of each page in this answer: a citation with its pick. Both come in context order; should they ever differ,
 * page and DPI find the pick.
 */
export function leaves(citations, plan) {
  const fits = (pick, citation) => pick && pick.page === citation.page && pick.dpi === citation.dpi;
  return citations.map((citation, at) => {
    const pick = fits(plan.picks[at], citation) ? plan.picks[at] : plan.picks.find((other) => fits(other, citation));
    return { ...citation, read: citation.dpi, pick: pick || null };
  });
}

/** How the model took a page: "120 DPI", or "text" where it read the words without an image. */
export function taken(item) {
  return item.read_as === "text" ? "text" : `${item.dpi} DPI`;
}

export const isSharp = (dpi, dpis) => dpi > Math.min(...dpis, dpi);
