// `npm run chaos`: a shop of its own, with two replicas of everything, to which happens what can happen.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { explain } from '../../tools/start/errors.mjs';
import { stopOnSignals } from '../../tools/start/shutdown.mjs';
import { checkPlatform, pinnedNode, readyToolchain, ROOT } from '../../tools/start/toolchain.mjs';

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  try {
    checkPlatform();
    const env = await readyToolchain({ signal: stop.signal, say: console.log });
    const chaos = fileURLToPath(new URL('chaos.mjs', import.meta.url));
    const child = spawn(pinnedNode(), [chaos, ...process.argv.slice(2)], { cwd: ROOT, env, stdio: 'inherit', detached: true });
    // It ends all that it has begun before it ends itself.
    stop.signal.addEventListener('abort', () => child.kill('SIGTERM'));
    const [code] = await once(child, 'exit');
    return code ?? 1;
  } catch (error) {
    console.log(explain(error));
    return 1;
  }
}
