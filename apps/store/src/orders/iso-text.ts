/** More than the orders of a batch need: when they are placed, and until when their units are reserved. */
const maxTexts = 8;
const texts = new Map<number, string>();

/**
 * Formats a time as `toISOString` does, and remembers the last texts: all orders of a batch have the same times, each in an event and
 * in an answer, and formatting them for each order took a noticeable part of the store's CPU (docs/performance/experiments.md).
 */
export function isoText(time: Date): string {
  const ms = time.getTime();
  const known = texts.get(ms);
  if (known !== undefined) return known;
  const text = time.toISOString();
  if (texts.size === maxTexts) texts.clear();
  texts.set(ms, text);
  return text;
}
