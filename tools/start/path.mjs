import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** @param {string} program @returns {string | undefined} its file in the first folder of the PATH that has it */
export function onPath(program) {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
}
