import { Cell } from '../shop/cell.js';

/** Whether a file of this release is gone, because the shop got a new one before this page had loaded all of its own. */
export const isOutdated = new Cell(false);

export function watchForNewRelease(): void {
  // Dispatched by Vite when a dynamic import fails.
  window.addEventListener('vite:preloadError', (event) => {
    event.preventDefault();
    // Offline, nothing is known of releases.
    if (navigator.onLine) isOutdated.set(true);
  });
}
