// `npm run fuzz`: builds, starts a shop, sends it malformed requests, and checks that none of its processes died.
import { join } from 'node:path';
import { attempt } from '../start/command.mjs';
import { explain, StartError } from '../start/errors.mjs';
import { readRun } from '../start/run-file.mjs';
import { Shutdown, stopOnSignals } from '../start/shutdown.mjs';
import { checkPlatform, compile, pinnedNode, readyPackages, ROOT } from '../start/toolchain.mjs';
import { temporaryFolder } from '../test/folder.mjs';
import { startShop } from '../test/shop.mjs';

const usage = `Sends generated requests to every operation and checks each response against the OpenAPI document.

  npm run fuzz                             100,000 requests to a new shop
  npm run fuzz -- --seed 7 --count 30000   the same requests each time
  npm run fuzz -- --only placeOrder        one operation
  npm run fuzz -- --sandbox                the operations that only a sandbox has, of a new one
  npm run fuzz -- --cost                   instead the costliest requests that are admitted, to each operation: none may take 50 ms of a process
  npm run fuzz -- --url http://…           to a running demo shop; --cost needs its RUN_FILE, too`;

const stop = stopOnSignals();
process.exit(await main(process.argv.slice(2)));

/** @param {string[]} args @returns {Promise<number>} the exit code */
async function main(args) {
  const shutdown = new Shutdown(/** @type {const} */ (['shop', 'temporary folder']), (step, error) => console.log(`Stopping (${step}): ${explain(error)}`));
  try {
    if (args.includes('--help')) {
      console.log(usage);
      return 0;
    }
    checkPlatform();
    const { signal } = stop;
    const env = await readyPackages({ signal, say: console.log });
    if (!(await compile({ signal, say: console.log, env }))) return 1;
    const fuzz = (/** @type {string[]} */ more, shopEnv = {}) =>
      attempt(pinnedNode(), [join(ROOT, 'tests/acceptance/dist/fuzz/main.js'), ...args.filter((one) => one !== '--sandbox'), ...more], { cwd: ROOT, env: { ...env, ...shopEnv }, show: true, signal });
    if (args.includes('--url')) return (await fuzz([])).code;
    const isSandbox = args.includes('--sandbox');
    const shop = await startShop({ folder: temporaryFolder(shutdown), stop, shutdown }, isSandbox ? { SANDBOX: 'true' } : {});
    const before = processes(shop.env.RUN_FILE);
    const { code } = await fuzz(['--url', shop.env.GATEWAY_URL, ...(isSandbox ? ['--only', 'Sandbox'] : [])], shop.env);
    const died = before.filter((one) => !processes(shop.env.RUN_FILE).includes(one));
    if (died.length > 0) throw new StartError(`These processes died during the test: ${died.join(', ')}\n${shop.lastLogLines().join('\n')}`);
    return code;
  } catch (error) {
    console.log(`\n${explain(error)}`);
    return 1;
  } finally {
    await shutdown.run();
  }
}

/** @param {string} runFile @returns {string[]} each service with its process id */
function processes(runFile) {
  return Object.entries(readRun(runFile)?.services ?? {}).flatMap(([service, instances]) => instances.map(({ pid }) => `${service} ${pid}`));
}
