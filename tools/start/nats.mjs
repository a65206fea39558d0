import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createConnection } from 'node:net';
import { KeptProcess } from './kept-process.mjs';
import { sleep } from './processes.mjs';

/** SIGTERM lets nats-server close its connections, and JetStream its files. */
/** @type {import('./processes.mjs').StopStep[]} */
const stopSteps = [{ signal: 'SIGTERM', limitMs: 5_000 }];

/**
 * A NATS server on loopback, not started yet.
 * @param {import('./nats-binary.mjs').NatsServer} found
 * @param {object} serving
 * @param {number} serving.port
 * @param {string} [serving.config] absent: no authentication
 * @param {Record<string, string>} [serving.passwords] the variables the configuration refers to
 * @param {string} serving.logFile
 * @param {import('./kept-process.mjs').Keeping['onEnd']} serving.onEnd
 * @param {() => void} [serving.onChange]
 * @param {string} [serving.storeDir] folder of its streams; absent: no JetStream
 * @param {{ port: number, others: number[] }} [serving.cluster] ports on which the servers of a cluster reach each other; not with Docker
 */
export function natsServer(found, { port, config, passwords = {}, logFile, onEnd, onChange, storeDir, cluster }) {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...passwords };
  const [command, args] =
    'binary' in found
      ? /** @type {const} */ ([found.binary, ['-a', '127.0.0.1', '-p', `${port}`, ...(config ? ['-c', config] : []), ...(storeDir ? ['-js', '-sd', storeDir] : []), ...(cluster ? clusterArgs(cluster) : [])]])
      : /** @type {const} */ (['docker', dockerRun(found.image, port, config, storeDir, Object.keys(passwords))]);
  return new KeptProcess({
    name: 'nats',
    stopSteps,
    onEnd,
    onChange,
    launch: () => {
      const log = openSync(logFile, 'w', 0o600);
      try {
        return spawn(command, [...args], { env, detached: true, stdio: ['ignore', log, log] });
      } finally {
        closeSync(log);
      }
    },
  });
}

/** Clients do not learn the other servers' addresses: they reach a cluster by one address, as in Kubernetes. @param {{ port: number, others: number[] }} cluster */
function clusterArgs({ port, others }) {
  const urlOf = (/** @type {number} */ one) => `nats://127.0.0.1:${one}`;
  return ['--cluster_name', 'shop', '--cluster', urlOf(port), '--routes', others.map(urlOf).join(','), '--no_advertise'];
}

/** @param {string} image @param {number} port @param {string | undefined} config @param {string | undefined} storeDir @param {string[]} variables */
function dockerRun(image, port, config, storeDir, variables) {
  const mount = [...(config ? ['-v', `${config}:/nats.conf:ro`] : []), ...(storeDir ? ['-v', `${storeDir}:/data`] : [])];
  const names = variables.flatMap((name) => ['-e', name]);
  const server = [image, '-a', '0.0.0.0', ...(config ? ['-c', '/nats.conf'] : []), ...(storeDir ? ['-js', '-sd', '/data'] : [])];
  return ['run', '--rm', '--init', '-p', `127.0.0.1:${port}:4222`, ...names, ...mount, ...server];
}

/** Waits for the server's INFO line. @param {number} port @param {AbortSignal} signal */
export async function natsReady(port, signal) {
  while ((await greetingOf(port)) === undefined) {
    await sleep(20);
    signal.throwIfAborted();
  }
}

/** @param {number} port of a running server @returns {Promise<string>} such as 2.9.10 */
export async function natsVersion(port) {
  const greeting = await greetingOf(port);
  return JSON.parse(greeting?.slice('INFO '.length) ?? '{}').version ?? '0';
}

/** @param {number} port @returns {Promise<string | undefined>} the server's INFO line; undefined if there is none */
function greetingOf(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    const answer = (/** @type {string | undefined} */ greeting) => {
      socket.destroy();
      resolve(greeting);
    };
    socket.setTimeout(1_000, () => answer(undefined));
    socket.once('data', (said) => {
      const greeting = said.toString('latin1');
      answer(greeting.startsWith('INFO ') ? greeting : undefined);
    });
    socket.once('error', () => answer(undefined));
    socket.once('close', () => answer(undefined));
  });
}
