import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onLines } from '../../../tools/start/lines.mjs';
import { sleep } from '../../../tools/start/processes.mjs';
import { ROOT } from '../../../tools/start/toolchain.mjs';

/** A long-running command of the README: `npm run listen`, `npm run receive`. */
export class Tool {
  /** Its standard output. @type {string[]} */
  lines = [];
  /** Its standard error. @type {string[]} */
  said = [];

  /** @param {'listen' | 'receive'} command script of package.json @param {string[]} args */
  constructor(command, args) {
    /** @type {Record<string, string>} */
    const scripts = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts;
    const [, ...own] = scripts[command]?.replace(/^exec /, '').split(' ') ?? [];
    this.child = spawn(process.execPath, [...own, ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    onLines(this.child.stdout, (lines) => this.lines.push(...lines));
    onLines(this.child.stderr, (lines) => this.said.push(...lines));
  }

  /** @param {string} what @param {() => boolean} condition @param {number} limitS */
  async until(what, condition, limitS) {
    for (const end = Date.now() + limitS * 1_000; !condition(); await sleep(100)) {
      if (Date.now() > end || this.child.exitCode !== null) throw new Error(`${what}: not within ${limitS} s. Its output:\n${[...this.said, ...this.lines].slice(-5).join('\n')}`);
    }
  }

  /** Sends SIGINT, like Ctrl-C. @returns {Promise<number | null>} its exit code */
  async end() {
    if (this.child.exitCode !== null) return this.child.exitCode;
    this.child.kill('SIGINT');
    const [code] = await once(this.child, 'close');
    return code;
  }
}
