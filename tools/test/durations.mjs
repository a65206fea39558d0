import { existsSync, readFileSync } from 'node:fs';

/** Ticks per second in /proc, the same on every Linux that Node supports. */
const TICKS = 100;
const SHOWN_FILES = 15;

/** @typedef {{ name: string, ms: number }} Duration */

/** Collects where the time of a run goes. */
export class Durations {
  /** @type {Duration[]} */
  steps = [];
  /** @type {Duration[]} */
  files = [];
}

/**
 * Returns a table of the steps and the slowest files of a run. Steps of a stage run concurrently, so their sum exceeds the total.
 * @param {Durations} durations @param {{ ms: number, cpuSeconds: number | undefined }} total @returns {string[]} lines to print
 */
export function tableOf({ steps, files }, { ms, cpuSeconds }) {
  const line = (/** @type {Duration} */ one) => `${(one.ms / 1000).toFixed(1).padStart(8)} s  ${one.name}`;
  const slowest = [...files].sort((one, other) => other.ms - one.ms).slice(0, SHOWN_FILES);
  const cpu = cpuSeconds === undefined ? '' : `, with ${cpuSeconds.toFixed(0)} s of processor time`;
  return [
    `Where the time went (${(ms / 1000).toFixed(0)} s${cpu}):`,
    ...steps.map(line),
    ...(slowest.length > 0 ? [`The ${slowest.length} slowest of ${files.length} files:`, ...slowest.map(line)] : []),
  ];
}

/** Returns the processor time of this process and of all its ended children, which other load on the machine does not prolong; undefined where there is no /proc. */
export function cpuSeconds() {
  const file = '/proc/self/stat';
  if (!existsSync(file)) return undefined;
  // The name in parentheses may contain spaces. After it: state is field 3, utime, stime, cutime and cstime are 14 to 17.
  const fields = readFileSync(file, 'utf8').replace(/^.*\) /s, '').split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
}
