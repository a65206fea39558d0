import { existsSync, readFileSync } from 'node:fs';

/** Ticks per second in /proc, the same on every Linux that Node supports. */
const TICKS = 100;
const SHOWN_FILES = 15;

/** @typedef {{ name: string, ms: number }} Duration */
/** @typedef {Duration & { cpuSeconds: number | undefined }} StepDuration */

/** Collects where the time of a run goes. */
export class Durations {
  /** @type {StepDuration[]} */
  steps = [];
  /** @type {Duration[]} */
  files = [];
  #chargedSeconds = 0;

  /**
   * Runs a step and records how long it took.
   * @template T @param {string} name @param {(step: StepDuration) => Promise<T>} run @returns {Promise<T>}
   */
  async measure(name, run) {
    /** @type {StepDuration} */
    const step = { name, ms: NaN, cpuSeconds: undefined };
    const begun = performance.now();
    try {
      return await run(step);
    } finally {
      step.ms = performance.now() - begun;
      this.charge(step);
      this.steps.push(step);
    }
  }

  /**
   * Adds the processor time of all child processes that ended since the last call to a step. The system keeps only the sum of ended
   * children, so a step calls this as soon as one of its commands ends.
   * @param {StepDuration} step
   */
  charge(step) {
    const seconds = cpuSeconds()?.children;
    if (seconds === undefined) return;
    step.cpuSeconds = (step.cpuSeconds ?? 0) + seconds - this.#chargedSeconds;
    this.#chargedSeconds = seconds;
  }
}

/**
 * Returns a table of the steps and the slowest files of a run. Steps of a stage run concurrently, so their sum exceeds the total.
 * @param {Pick<Durations, 'steps' | 'files'>} durations @param {{ ms: number, cpuSeconds: number | undefined }} total @returns {string[]} lines to print
 */
export function tableOf({ steps, files }, { ms, cpuSeconds }) {
  const column = (/** @type {number} */ seconds) => `${seconds.toFixed(1).padStart(8)} s`;
  const slowest = [...files].sort((one, other) => other.ms - one.ms).slice(0, SHOWN_FILES);
  const isCounted = cpuSeconds !== undefined;
  return [
    `Where the time went (${(ms / 1000).toFixed(0)} s${isCounted ? `, with ${cpuSeconds.toFixed(0)} s of processor time` : ''}):`,
    ...(isCounted ? [' elapsed   processor'] : []),
    ...steps.map((one) => `${column(one.ms / 1000)}${isCounted ? `  ${column(one.cpuSeconds ?? 0)}` : ''}  ${one.name}`),
    ...(slowest.length > 0 ? [`The ${slowest.length} slowest of ${files.length} files:`, ...slowest.map((one) => `${column(one.ms / 1000)}  ${one.name}`)] : []),
  ];
}

/**
 * Returns the processor time of this process with all its ended children, and of these children alone, which other load on the machine does
 * not prolong; undefined where there is no /proc.
 */
export function cpuSeconds() {
  const file = '/proc/self/stat';
  if (!existsSync(file)) return undefined;
  // The name in parentheses may contain spaces. After it: state is field 3, utime, stime, cutime and cstime are 14 to 17.
  const fields = readFileSync(file, 'utf8').replace(/^.*\) /s, '').split(' ');
  const [user = 0, system = 0, childrensUser = 0, childrensSystem = 0] = fields.slice(11, 15).map((ticks) => Number(ticks) / TICKS);
  const children = childrensUser + childrensSystem;
  return { total: user + system + children, children };
}
