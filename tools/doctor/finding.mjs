/**
 * The result of one check. `unknown`: the check could not be made.
 * @typedef {object} Finding
 * @property {'well' | 'wrong' | 'unknown'} state
 * @property {string} about
 * @property {string} says
 * @property {string} [todo] the remedy, unless the check passed
 */

/** @param {string} about @param {string} says @returns {Finding} */
export const well = (about, says) => ({ state: 'well', about, says });

/** @param {string} about @param {string} says @param {string} todo @returns {Finding} */
export const wrong = (about, says, todo) => ({ state: 'wrong', about, says, todo });

/** @param {string} about @param {string} says @param {string} todo @returns {Finding} */
export const unknown = (about, says, todo) => ({ state: 'unknown', about, says, todo });

const marks = { well: 'ok   ', wrong: 'WRONG', unknown: '?    ' };

/** Formats a finding as one line. @param {Finding} finding */
export const line = ({ state, about, says, todo }) =>
  `${marks[state]}  ${about}: ${says}${todo ? ` -> ${todo}` : ''}`.replaceAll(/\s+/g, (space) => (space.includes('\n') ? ' ' : space));

/** Returns the exit code: 0 all checks passed, 1 something is wrong, 2 nothing is known to be wrong but some checks could not be made. @param {readonly Finding[]} findings */
export function exitCode(findings) {
  const has = (/** @type {Finding['state']} */ state) => findings.some((one) => one.state === state);
  if (has('wrong')) return 1;
  return has('unknown') || findings.length === 0 ? 2 : 0;
}

/** @param {readonly Finding[]} findings */
export function summary(findings) {
  const count = (/** @type {Finding['state']} */ state) => findings.filter((one) => one.state === state).length;
  return `${count('well')} ok, ${count('wrong')} wrong, ${count('unknown')} not checked`;
}

/** Returns an error's message without its stack and without credentials in URLs. @param {unknown} error */
export function reasonOf(error) {
  // Node throws one AggregateError for all addresses of a host name; its own message is empty.
  const one = error instanceof AggregateError ? error.errors[0] : error;
  const { cause } = /** @type {{ cause?: unknown }} */ (one ?? {});
  const text = cause instanceof Error && cause.message ? cause.message : one instanceof Error ? one.message || one.name : String(one);
  return withoutCredentials(text);
}

/** @param {string} text */
export const withoutCredentials = (text) => text.replaceAll(/\/\/[^/@\s]*@/g, '//');
