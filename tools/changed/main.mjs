// Which services' images differ from those of another commit, as a JSON list for CI: node tools/changed/main.mjs <commit>
import { execFileSync } from 'node:child_process';
import { ROOT } from '../start/toolchain.mjs';
import { SERVICES } from '../start/services.mjs';
import { changedServices } from './changed.mjs';

const [since = ''] = process.argv.slice(2);
console.log(JSON.stringify(answer()));

/** Since a commit that is unknown (the first push of a branch, a rewritten one), all. */
function answer() {
  const git = (/** @type {string[]} */ ...args) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    git('rev-parse', '--verify', '--quiet', `${since}^{commit}`);
  } catch {
    return SERVICES;
  }
  return changedServices(ROOT, git('diff', '--name-only', '--no-renames', '-z', since, 'HEAD').split('\0').filter(Boolean));
}
