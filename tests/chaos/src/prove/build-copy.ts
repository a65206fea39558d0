import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Edit } from './bugs.js';

/** A copy of what was built, in which bugs are made: the services run from it, and nothing of it gets back. */
export class BuildCopy {
  constructor(private readonly folder: string, root: string) {
    for (const group of ['apps', 'libs']) {
      for (const name of readdirSync(join(root, group))) {
        const from = join(root, group, name);
        const to = join(folder, group, name);
        mkdirSync(to, { recursive: true });
        for (const part of readdirSync(from)) {
          if (part === 'src') continue;
          // Links within the workspace are relative, and lead to the copy.
          cpSync(join(from, part), join(to, part), { recursive: true, verbatimSymlinks: true });
        }
      }
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  }

  /** Where the services are: ARTEFACTS_DIR of tools/start. */
  get apps(): string {
    return join(this.folder, 'apps');
  }

  /** Address of the client library. */
  get library(): string {
    return pathToFileURL(join(this.folder, 'libs/client/dist/index.js')).href;
  }

  /**
   * Makes a bug. @returns what undoes it
   * @throws Error when the text to be changed is not there, or not once
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
        throw new Error(`the bug no longer fits the code: ${file} has this ${times} times, and must have it once:\n    ${find}\n  Change src/prove/bugs.ts so that it makes the same mistake in the code as it is now.`);
      }
      if (!before.has(path)) before.set(path, text);
      writeFileSync(path, text.replace(find, () => replace));
    }
    return undo;
  }
}
