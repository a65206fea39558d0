import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canReach, postgresUser } from '../start/system-user.mjs';

/**
 * Creates a temporary folder that the user of Postgres may enter; shutdown removes it.
 * @param {Pick<import('../start/shutdown.mjs').Shutdown<'temporary folder'>, 'add'>} shutdown
 */
export function temporaryFolder(shutdown) {
  const parent = canReach(tmpdir(), postgresUser()) ? tmpdir() : '/tmp';
  const folder = subfolder(parent, 'plant-shop-test');
  shutdown.add('temporary folder', () => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a subfolder that the same user may enter. @param {string} parent @param {string} name */
export function subfolder(parent, name) {
  const folder = mkdtempSync(join(parent, `${name}-`));
  chmodSync(folder, 0o711);
  return folder;
}
