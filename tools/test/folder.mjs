import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canReach, postgresUser } from '../start/system-user.mjs';

/**
 * A folder that the user Postgres runs as can enter, and that is gone in the end.
 * @param {Pick<import('../start/shutdown.mjs').Shutdown<'temporary folder'>, 'add'>} shutdown
 */
export function temporaryFolder(shutdown) {
  const parent = canReach(tmpdir(), postgresUser()) ? tmpdir() : '/tmp';
  const folder = mkdtempSync(join(parent, 'plant-shop-test-'));
  chmodSync(folder, 0o711);
  shutdown.add('temporary folder', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
