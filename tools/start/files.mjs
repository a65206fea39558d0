import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';

/** Writes a file that only its owner can read; a reader sees the old content or the new, never half. @param {string} path @param {string} text */
export function writePrivately(path, text) {
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}

/** Makes a folder that others may pass through but not list, regardless of the umask. @param {string} path */
export function makePassage(path) {
  if (mkdirSync(path, { recursive: true }) !== undefined) chmodSync(path, 0o711);
}
