import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASES } from '../start/credentials.mjs';
import { DataDir } from '../start/data-dir.mjs';
import { StartError } from '../start/errors.mjs';
import { KeptProcess } from '../start/kept-process.mjs';
import { freePort } from '../start/ports.mjs';
import { answers } from '../start/readiness.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { lastLinesOf } from '../start/watch.mjs';

/** Short, but long enough to act on an order while it is placed, even on a busy machine. */
const fastSimulation = { SIMULATED_APPROVAL_DELAY_MS: '1500', SIMULATED_DELIVERY_DELAY_MS: '300' };

/**
 * Starts a whole shop by `npm start`, on its own ports and data.
 * @param {Pick<import('./steps.mjs').StepContext, 'folder' | 'stop' | 'shutdown'>} need
 * @param {Record<string, string>} [variables] additional ones for `npm start`
 * @returns {Promise<{ env: Record<string, string>, lastLogLines: () => string[] }>} the variables by which tests find it, and its last log lines
 */
export async function startShop({ folder, stop, shutdown }, variables = {}) {
  const dataDir = new DataDir(join(folder, 'shop'));
  const logFile = join(folder, 'shop.log');
  const lastLogLines = () => lastLinesOf(logFile, 60);
  const [gatewayPort, streamPort] = [await freePort(), await freePort()];
  const place = { DATA_DIR: dataDir.path, GATEWAY_PORT: `${gatewayPort}`, STREAM_PORT: `${streamPort}` };
  const env = { ...ownServersOnly(process.env), ...fastSimulation, ...variables, ...place };
  const ended = new AbortController();
  const shop = new KeptProcess({
    name: 'shop',
    stopSteps: [{ signal: 'SIGTERM', limitMs: 45_000 }],
    onEnd: () => {
      ended.abort(new StartError(`The shop has ended:\n${lastLogLines().join('\n')}`));
      return false;
    },
    launch: () => {
      const log = openSync(logFile, 'a', 0o600);
      try {
        const main = join(ROOT, 'tools', 'start', 'main.mjs');
        return spawn(process.execPath, [main, '--quiet'], { cwd: ROOT, env, detached: true, stdio: ['ignore', log, log] });
      } finally {
        closeSync(log);
      }
    },
  });
  shutdown.add('shop', async () => {
    await shop.stop();
    // The Postgres cluster may be outside of the folder.
    dataDir.empty();
  });
  shop.start();
  const gatewayUrl = `http://127.0.0.1:${gatewayPort}`;
  await answers(`${gatewayUrl}/readyz`, { limitMs: 120_000, signal: AbortSignal.any([stop.signal, ended.signal]) });
  return { env: { GATEWAY_URL: gatewayUrl, STREAM_URL: `ws://127.0.0.1:${streamPort}`, RUN_FILE: dataDir.runFile }, lastLogLines };
}

/** Removes variables that name existing servers: tests must not touch them. @param {NodeJS.ProcessEnv} env */
function ownServersOnly(env) {
  const given = ['NATS_URL', 'PUBLIC_URL', ...DATABASES.map((name) => `${name.toUpperCase()}_DATABASE_URL`)];
  return Object.fromEntries(Object.entries(env).filter(([name]) => !given.includes(name)));
}
