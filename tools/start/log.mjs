/**
 * A parsed log line of a service.
 * @typedef {{ level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', text: string }} LogLine
 */

const LEVELS = /** @type {const} */ ({ 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' });
/** Fields that are shown elsewhere or do not help a reader. */
const UNSHOWN = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'name', 'service', 'v', 'err']);

/**
 * Formats a JSON log line for reading. Other lines stay as they are.
 * @param {string} label of the process
 * @param {string} line
 * @param {boolean} colours
 * @returns {LogLine}
 */
export function readable(label, line, colours) {
  const paint = colours ? ansi : (/** @type {number} */ _, /** @type {string} */ text) => text;
  const entry = parse(line);
  if (entry === undefined) return { level: 'warn', text: `${' '.repeat(12)} ${name(label, paint)} ${line}` };

  const level = levelOf(entry['level']);
  const time = new Date(/** @type {number} */ (entry['time'] ?? Date.now())).toISOString().slice(11, 23);
  const fields = Object.entries(entry).filter(([key]) => !UNSHOWN.has(key));
  const shown = fields.map(([key, value]) => `${paint(90, `${key}=`)}${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const head = [paint(90, time), name(label, paint), paint(levelColour[level], level.padEnd(5)), entry['msg'], ...shown];
  return { level, text: head.filter((part) => part !== undefined && part !== '').join(' ') + stackOf(entry['err']) };
}

/** Whether a line is below a warning, without parsing it: pino writes the level first. @param {string} line */
export const isSurelyNoProblem = (line) => /^\{"level":(?:[123]0|"(?:trace|debug|info)"),/.test(line);

/** @param {LogLine['level']} level */
export const isProblem = (level) => level === 'warn' || level === 'error' || level === 'fatal';

const levelColour = { trace: 90, debug: 90, info: 32, warn: 33, error: 31, fatal: 31 };

/** @param {number} code @param {string} text */
const ansi = (code, text) => `\u001b[${code}m${text}\u001b[0m`;

/** @param {string} label @param {typeof ansi} paint */
function name(label, paint) {
  const colours = [36, 35, 34, 33, 32, 96, 95, 94];
  const sum = [...label].reduce((total, letter) => total + letter.charCodeAt(0), 0);
  return paint(colours[sum % colours.length] ?? 36, label.padEnd(15));
}

/** @param {unknown} level pino writes numbers; a logger of another language may write names @returns {LogLine['level']} */
function levelOf(level) {
  if (typeof level === 'number') return LEVELS[/** @type {keyof typeof LEVELS} */ (level)] ?? 'info';
  const named = Object.values(LEVELS).find((known) => known === level);
  return named ?? 'info';
}

/** @param {unknown} error */
function stackOf(error) {
  if (typeof error !== 'object' || error === null) return error === undefined ? '' : `\n    ${error}`;
  const { stack, message } = /** @type {{ stack?: string, message?: string }} */ (error);
  return `\n    ${(stack ?? message ?? JSON.stringify(error)).replaceAll('\n', '\n    ')}`;
}

/** @param {string} line @returns {Record<string, unknown> | undefined} */
function parse(line) {
  try {
    const entry = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? entry : undefined;
  } catch {
    return undefined;
  }
}
