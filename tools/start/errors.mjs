/** Something the person at the keyboard can mend: printed as its message alone, without a stack. */
export class StartError extends Error {}

/** @param {unknown} error @returns {string} */
export function explain(error) {
  if (error instanceof StartError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
