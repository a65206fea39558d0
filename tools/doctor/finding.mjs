/**
 * What one check found, in plain words. `unknown`: it could not be looked at.
 * @typedef {object} Finding
 * @property {'well' | 'wrong' | 'unknown'} state
 * @property {string} about
 * @property {string} says
 * @property {string} [todo] what to do when it is not well
 */

/** @param {string} about @param {string} says @returns {Finding} */
export const well = (about, says) => ({ state: 'well', about, says });

/** @param {string} about @param {string} says @param {string} todo @returns {Finding} */
export const wrong = (about, says, todo) => ({ state: 'wrong', about, says, todo });

/** @param {string} about @param {string} says @param {string} todo @returns {Finding} */
export const unknown = (about, says, todo) => ({ state: 'unknown', about, says, todo });

const marks = { well: 'ok   ', wrong: 'WRONG', unknown: '?    ' };

/** One line. @param {Finding} finding */
export const line = ({ state, about, says, todo }) =>
  `${marks[state]}  ${about}: ${says}${todo ? ` -> ${todo}` : ''}`.replaceAll(/\s+/g, (space) => (space.includes('\n') ? ' ' : space));

/** 0 all is well, 1 something is wrong, 2 nothing is known to be wrong, but not all could be looked at. @param {readonly Finding[]} findings */
export function exitCode(findings) {
  const has = (/** @type {Finding['state']} */ state) => findings.some((one) => one.state === state);
  if (has('wrong')) return 1;
  return has('unknown') || findings.length === 0 ? 2 : 0;
}

/** @param {readonly Finding[]} findings */
export function summary(findings) {
  const count = (/** @type {Finding['state']} */ state) => findings.filter((one) => one.state === state).length;
  return `${count('well')} well, ${count('wrong')} wrong, ${count('unknown')} not looked at`;
}

/** What an error says, without the stack and without the credentials of an address. @param {unknown} error */
export function reasonOf(error) {
  // Node answers for all addresses of a name at once, with an empty text of its own.
  const one = error instanceof AggregateError ? error.errors[0] : error;
  const { cause } = /** @type {{ cause?: unknown }} */ (one ?? {});
  const text = cause instanceof Error && cause.message ? cause.message : one instanceof Error ? one.message || one.name : String(one);
  return withoutCredentials(text);
}

/** @param {string} text */
export const withoutCredentials = (text) => text.replaceAll(/\/\/[^/@\s]*@/g, '//');
