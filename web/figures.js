// Numbers go in; the words that a person reads for them come out. Nothing of the page is needed for it.

const LANGUAGE = "en-GB";

export const figure = (n) => n.toLocaleString(LANGUAGE);

/** "1 page", "3 pages". */
export function count(n, noun, plural = `${noun}s`) {
  return `${figure(n)} ${n === 1 ? noun : plural}`;
}

/** Bytes in the largest unit that leaves a number of one to four digits: "904 bytes", "1.2 MiB". */
export function size(bytes) {
  if (bytes < 1024) return count(Math.round(bytes), "byte");
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let amount = bytes / 1024;
  let unit = 0;
  while (amount >= 1000 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${amount.toFixed(amount < 10 ? 1 : 0)}\u00a0${units[unit]}`;
}

/** Seconds with three digits that mean something: "23 ms", "1.25 s", "12.5 s". */
export function seconds(s) {
  if (s < 0.001) return "<\u00a01\u00a0ms";
  if (s < 0.9995) return `${Math.round(s * 1000)}\u00a0ms`;
  return `${s.toFixed(s < 10 ? 2 : 1)}\u00a0s`;
}

/** A length of time in its two largest units: "3 days 2 hours", "5 minutes", "12 seconds". */
export function span(s) {
  const parts = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  let left = Math.max(0, Math.round(s));
  const said = [];
  for (const [noun, unit] of parts) {
    const n = Math.floor(left / unit);
    left -= n * unit;
    if (n) said.push(count(n, noun));
    else if (said.length) break;
    if (said.length === 2) break;
  }
  return said.join(" ") || "a moment";
}

/** A moment as a person says it: the time of day today, else the date too. */
export function moment(iso) {
  const then = new Date(iso);
  if (Number.isNaN(then.getTime())) return "";
  const time = then.toLocaleTimeString(LANGUAGE, { hour: "2-digit", minute: "2-digit" });
  if (then.toDateString() === new Date().toDateString()) return time;
  return `${then.toLocaleDateString(LANGUAGE, { day: "numeric", month: "short" })}, ${time}`;
}

/** A day in words; a catalogue's times are UTC. */
export function day(iso) {
  return new Date(iso).toLocaleDateString(LANGUAGE, { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}
