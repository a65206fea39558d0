/** Returns a time as the value of `<input type="datetime-local">`: local time, to the minute. */
export function localInput(at: number): string {
  const date = new Date(at);
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
