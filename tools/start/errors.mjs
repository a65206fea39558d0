/** An error that the user can fix: printed without a stack trace. */
export class StartError extends Error {}

/** @param {unknown} error @returns {string} */
export function explain(error) {
  if (error instanceof StartError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
