import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Edit } from './bug.js';

/** A copy of the build, in which bugs are seeded. The services run from it; the original build stays unchanged. */
export class BuildCopy {
  constructor(private readonly folder: string, root: string) {
    for (const group of ['apps', 'libs']) {
      for (const name of readdirSync(join(root, group))) {
        const from = join(root, group, name);
        const to = join(folder, group, name);
        mkdirSync(to, { recursive: true });
        for (const part of readdirSync(from)) {
          if (part === 'src') continue;
          // Workspace links are relative, so in the copy they point into the copy.
          cpSync(join(from, part), join(to, part), { recursive: true, verbatimSymlinks: true });
        }
      }
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  }

  /** Folder of the services, for ARTEFACTS_DIR of tools/start. */
  get apps(): string {
    return join(this.folder, 'apps');
  }

  /** URL of the client library. */
  get library(): string {
    return pathToFileURL(join(this.folder, 'libs/client/dist/index.js')).href;
  }

  /**
   * Applies the edits of a bug. @returns a function that undoes them
   * @throws Error if a file does not contain an edit's text exactly once
   */
  apply(edits: readonly Edit[]): () => void {
    const before = new Map<string, string>();
    const undo = (): void => before.forEach((text, path) => writeFileSync(path, text));
    for (const { file, find, replace } of edits) {
      const path = join(this.folder, file);
      const text = readFileSync(path, 'utf8');
      const times = text.split(find).length - 1;
      if (times !== 1) {
        undo();
        throw new Error(`the bug no longer fits the code: ${file} contains this ${times} times, expected once:\n    ${find}\n  Adapt src/prove/bugs.ts so that it makes the same mistake in the current code.`);
      }
      if (!before.has(path)) before.set(path, text);
      writeFileSync(path, text.replace(find, () => replace));
    }
    return undo;
  }
}
