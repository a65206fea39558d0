/**
 * Returns a function that formats times as ISO 8601. It keeps the text of the last `Date` object, which the orders of a batch share
 * (`placingTimes`).
 */
export function isoFormatter(): (time: Date) => string {
  let last: Date | undefined;
  let text = '';
  return (time) => {
    if (time !== last) {
      text = time.toISOString();
      last = time;
    }
    return text;
  };
}
