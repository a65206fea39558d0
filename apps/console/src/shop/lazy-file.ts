import { lazyRouteComponent } from '@tanstack/react-router';
import { Cell } from './cell.js';

/** Whether the page needs a file that did not come, although the shop can be reached: a new release has removed it, or the network was lost meanwhile. */
export const isIncomplete = new Cell(false);

/** How often a shop that does not answer is asked. */
const retryMs = 1_000;

/** A component whose file is loaded when it is first needed; `preload` loads it ahead. */
export const lazyFile: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => whenReached(load), name);

/**
 * Imports a file once this computer has a network. If the file does not come, what is open stays as it is, and `isIncomplete` tells it as soon as
 * a reload can help: browsers do not import a file again that has failed once.
 */
export async function whenReached<T>(load: () => Promise<T>): Promise<T> {
  if (!navigator.onLine) await new Promise((resolve) => window.addEventListener('online', resolve, { once: true }));
  try {
    return await load();
  } catch {
    while (!(await isReached())) await new Promise((resolve) => setTimeout(resolve, retryMs));
    isIncomplete.set(true);
    return new Promise(() => undefined);
  }
}

const isReached = (): Promise<boolean> => fetch(`${import.meta.env.BASE_URL}settings.json`, { cache: 'no-store' }).then(({ ok }) => ok, () => false);
