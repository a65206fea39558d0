import { Cell } from '../shop/cell.js';

/** A page that is open while the shop gets a new release asks for files that are gone. Then it must be loaded again. */
export const isOutdated = new Cell(false);

export function watchForNewRelease(): void {
  // Vite's own event: a dynamic import failed.
  window.addEventListener('vite:preloadError', (event) => {
    event.preventDefault();
    isOutdated.set(true);
  });
}
