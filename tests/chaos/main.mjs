// `npm run chaos`: injects faults into a private shop with two replicas of every service.
import { fileURLToPath } from 'node:url';
import { attempt } from '../../tools/start/command.mjs';
import { explain } from '../../tools/start/errors.mjs';
import { stopOnSignals } from '../../tools/start/shutdown.mjs';
import { checkPlatform, pinnedNode, readyToolchain, ROOT } from '../../tools/start/toolchain.mjs';

const END_LIMIT_MS = 45_000;

const stop = stopOnSignals();
process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  try {
    checkPlatform();
    const env = await readyToolchain({ signal: stop.signal, say: console.log });
    const chaos = fileURLToPath(new URL('chaos.mjs', import.meta.url));
    // The child stops everything that it started before it exits.
    const options = { cwd: ROOT, env, show: true, signal: stop.signal, endLimitMs: END_LIMIT_MS };
    return (await attempt(pinnedNode(), [chaos, ...process.argv.slice(2)], options)).code;
  } catch (error) {
    console.log(explain(error));
    return 1;
  }
}
