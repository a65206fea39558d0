/** A time as `<input type="datetime-local">` has it: the reader's zone, in minutes. */
export function localInput(at: number): string {
  const date = new Date(at);
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
