import { once } from 'node:events';

/**
 * What must be undone at the end, in a fixed order whatever the order of the start was. Steps run one after the other;
 * one that fails is reported and does not keep the others from running.
 * @template {string} Step
 */
export class Shutdown {
  /** @type {Map<Step, () => unknown>} */
  #ends = new Map();
  /** @type {Promise<boolean> | undefined} */
  #running;

  /**
   * @param {readonly Step[]} order
   * @param {(step: Step, error: unknown) => void} report
   */
  constructor(order, report) {
    this.order = order;
    this.report = report;
  }

  /** @param {Step} step @param {() => unknown} end */
  add(step, end) {
    this.#ends.set(step, end);
  }

  /** @returns {Promise<boolean>} whether every step succeeded; asking again waits for the same run */
  run() {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run() {
    let clean = true;
    for (const step of this.order) {
      try {
        await this.#ends.get(step)?.();
      } catch (error) {
        clean = false;
        this.report(step, error);
      }
    }
    return clean;
  }
}

/** Services use NATS and Postgres to the last; the run file and the lock tell others that something still runs. */
export const ORDER = /** @type {const} */ (['services', 'NATS', 'Postgres', 'run file', 'lock']);

/** Not a failure: somebody wants us to end. */
export class StopRequest extends Error {}

/** Aborted by the first SIGINT, SIGTERM or SIGHUP; later ones (npm and the terminal both send theirs) change nothing. */
export function stopOnSignals() {
  const controller = new AbortController();
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => controller.abort(new StopRequest(`stopped by ${signal}`)));
  }
  return controller;
}

/** Waits for the reason to end, and throws it. @param {AbortSignal} signal @returns {Promise<never>} */
export async function untilStopped(signal) {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

/**
 * Runs tasks side by side. When one fails the others are told to end and waited for, so that nothing of them is left.
 * @template {readonly unknown[]} T
 * @param {AbortController} stop
 * @param {{ [K in keyof T]: T[K] | Promise<T[K]> }} tasks
 * @returns {Promise<T>}
 */
export async function together(stop, tasks) {
  const running = tasks.map((task) => Promise.resolve(task));
  for (const task of running) task.catch((error) => stop.abort(error));
  await Promise.allSettled(running);
  stop.signal.throwIfAborted();
  return /** @type {T} */ (/** @type {unknown} */ (await Promise.all(running)));
}
