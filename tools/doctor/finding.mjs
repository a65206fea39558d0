/**
 * The result of one check. `unknown`: the check could not be made.
 * @typedef {object} Finding
 * @property {'passed' | 'wrong' | 'unknown'} state
 * @property {string} about
 * @property {string} message
 * @property {string} [remedy] absent if the check passed
 */

/** @param {string} about @param {string} message @returns {Finding} */
export const passed = (about, message) => ({ state: 'passed', about, message });

/** @param {string} about @param {string} message @param {string} remedy @returns {Finding} */
export const wrong = (about, message, remedy) => ({ state: 'wrong', about, message, remedy });

/** @param {string} about @param {string} message @param {string} remedy @returns {Finding} */
export const unknown = (about, message, remedy) => ({ state: 'unknown', about, message, remedy });

const marks = { passed: 'ok   ', wrong: 'WRONG', unknown: '?    ' };

/** Formats a finding as one line. @param {Finding} finding */
export const line = ({ state, about, message, remedy }) =>
  `${marks[state]}  ${about}: ${message}${remedy ? ` -> ${remedy}` : ''}`.replaceAll(/\s+/g, (space) => (space.includes('\n') ? ' ' : space));

/** Returns the exit code: 0 all checks passed, 1 something is wrong, 2 nothing is known to be wrong but some checks could not be made. @param {readonly Finding[]} findings */
export function exitCode(findings) {
  const has = (/** @type {Finding['state']} */ state) => findings.some((one) => one.state === state);
  if (has('wrong')) return 1;
  return has('unknown') || findings.length === 0 ? 2 : 0;
}

/** @param {readonly Finding[]} findings */
export function summary(findings) {
  const count = (/** @type {Finding['state']} */ state) => findings.filter((one) => one.state === state).length;
  return `${count('passed')} ok, ${count('wrong')} wrong, ${count('unknown')} not checked`;
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
