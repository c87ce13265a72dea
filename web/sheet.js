// A page image with its marked lines: a page key, a DPI and boxes in points go in, an element comes out whose marks sit on the exact pixels.

import { isWhole } from "./citing.js";
import { el, show } from "./dom.js";
import { hang } from "./images.js";

/** A mark is one of two: the line has the answer's words, or nothing has and this line is nearest to the question. */
export const holds = (line) => line.why !== "closest to the question";

/**
 * The image of `page` at `dpi`, with a mark over each of `lines` ({index, text, box, why}).
 *
 * A box is in points from the image's top left; its pixel is point * dpi / 72. The image is a whole number of the model's cells,
 * so it is a little larger or smaller than the page's points: marks are placed against the image's own pixels, never against
 * the page's width in points. As shares of the image they stay true at any displayed size.
 */
export function sheet({ page, dpi, width, height, lines = [], alt = "", lazy = true }) {
  const image = el("img", { alt, decoding: "async", draggable: "false" });
  show(image, false);
  const frame = el("div", { class: "sheet waiting", vars: { "--shape": `${width} / ${height}` } }, image);
  frame.dataset.page = page;
  frame.dataset.dpi = String(dpi);
  image.addEventListener("load", () => {
    frame.classList.remove("waiting");
    frame.style.setProperty("--shape", `${image.naturalWidth} / ${image.naturalHeight}`);
    frame.style.setProperty("--pixels", `${image.naturalWidth}px`);
    for (const line of lines) frame.append(isWhole(line, { width, height }) ? whole() : mark(line, dpi, image.naturalWidth, image.naturalHeight));
  });
  const fail = (words) => {
    frame.classList.replace("waiting", "gone");
    image.remove();
    frame.append(el("p", { text: words }));
  };
  image.addEventListener("error", () => fail("This page image cannot be shown."));
  hang(frame, {
    page,
    dpi,
    lazy,
    shown: (url) => {
      show(image);
      image.src = url;
    },
    failed: (error) => fail(error.status === 404 ? "This page image is not there any more." : error.message),
  });
  return frame;
}

function mark(line, dpi, width, height) {
  const [x0, y0, x1, y1] = line.box.map((point) => (point * dpi) / 72);
  const share = (pixels, of) => `${(100 * pixels) / of}%`;
  const node = el("span", {
    class: holds(line) ? "mark holds" : "mark closest",
    "aria-hidden": "true",
    vars: { "--x": share(x0, width), "--y": share(y0, height), "--w": share(x1 - x0, width), "--h": share(y1 - y0, height) },
  });
  node.dataset.line = String(line.index);
  return node;
}

const whole = () => el("span", { class: "mark closest whole", "aria-hidden": "true" });
