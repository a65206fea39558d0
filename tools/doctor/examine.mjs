import { NATS_USERS } from '../start/services.mjs';
import { DATABASES } from '../start/credentials.mjs';
import { StartError } from '../start/errors.mjs';
import { runningShop } from '../start/run-file.mjs';
import { checkClocks } from './clocks.mjs';
import { checkContainers, containersOf } from './containers.mjs';
import { checkDatabases } from './databases.mjs';
import { reasonOf, unknown, wrong } from './finding.mjs';
import { checkLag } from './lag.mjs';
import { checkNats } from './nats.mjs';
import { checkParts, operationsOf } from './parts.mjs';
import { checkPorts } from './ports.mjs';
import { checkNode, checkToolchain } from './toolchain.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */
/** @typedef {import('./parts.mjs').Shop} Shop */

/**
 * Runs all checks; each comes after those that it depends on.
 * @param {string} root of the checkout
 * @param {NodeJS.ProcessEnv} env
 * @returns {AsyncGenerator<Finding>}
 */
export async function* examine(root, env) {
  const shop = shopOf(env);
  const containers = 'state' in shop && shop.state === 'unknown' ? await containersOf(root, env) : [];
  if (containers.length > 0) {
    // Containers need only an engine of this machine; images hold packages and build.
    yield checkNode();
    yield* checkContainers(containers);
    return;
  }
  yield* await checkToolchain(root);
  if ('state' in shop) {
    yield shop;
    yield* await checkPorts(env);
  } else {
    yield* await checkParts(shop);
  }
  const running = 'state' in shop ? undefined : shop;
  const ofShop = running?.postgres?.urls;
  yield* await checkDatabases(root, ofShop ?? givenDatabases(env), ofShop ? undefined : env['PGSSLROOTCERT']);
  yield* await checkNats(root, running?.nats ?? givenNats(env));
  const operations = running ? operationsOf(running) : [];
  yield* await checkClocks(operations);
  yield* await checkLag(operations);
}

/** @param {NodeJS.ProcessEnv} env @returns {Shop | Finding} */
function shopOf(env) {
  try {
    return runningShop(env, 'set variables for its servers');
  } catch (error) {
    if (error instanceof StartError) return unknown('shop', 'none runs here', 'npm start, or set DATA_DIR to the folder of a running one');
    return wrong('shop', `its run.json cannot be read (${reasonOf(error)})`, 'stop the shop and start it again');
  }
}

/** @param {NodeJS.ProcessEnv} env */
const givenDatabases = (env) => Object.fromEntries(DATABASES.map((name) => [name, env[`${name.toUpperCase()}_DATABASE_URL`]]));

/** @param {NodeJS.ProcessEnv} env */
function givenNats(env) {
  if (!env['NATS_URL']) return undefined;
  const users = NATS_USERS.flatMap((user) => {
    const password = env[`${user.toUpperCase()}_NATS_PASSWORD`];
    return password ? [[user, password]] : [];
  });
  return { url: env['NATS_URL'], users: Object.fromEntries(users), ca: env['NATS_CA'] };
}
