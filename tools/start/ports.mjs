import { createServer } from 'node:net';
import { StartError } from './errors.mjs';

/** Ports that this process has returned or found taken. They may not be bound yet, so the system would report them as free. */
const given = new Set();

/**
 * The first port to try. Below the ephemeral ports (usually from 32,768): while a server is down, the system might assign its port to an outgoing
 * connection, and the server could not restart. Random, so that processes that choose ports at the same time hardly ever choose the same.
 */
const first = 24_000 + Math.floor(Math.random() * 6_000);

/** @returns {Promise<number>} a free loopback port */
export const freePort = () => nextFreePort(first);

/**
 * The first free port from `first` on, for replicas of a service whose first port the user chose.
 * @param {number} first
 */
export async function nextFreePort(first) {
  for (let port = first; port < 65_536; port += 1) {
    if (given.has(port)) continue;
    given.add(port);
    if (!(await whyNot(port))) return port;
  }
  throw new StartError(`No free port from ${first} on.`);
}

/**
 * Reads the configurable ports. Throws if one is invalid or in use.
 * @template {string} Name
 * @param {Record<Name, number>} defaults variable → its default
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Record<Name, number>>}
 */
export async function claimPorts(defaults, env) {
  const problems = [];
  const ports = /** @type {Record<Name, number>} */ ({});
  for (const [variable, fallback] of /** @type {[Name, number][]} */ (Object.entries(defaults))) {
    const port = parsePort(env[variable], fallback);
    const reason = port === undefined ? 'not-a-port' : given.has(port) ? 'EADDRINUSE' : await whyNot(port);
    if (reason) problems.push(portProblem(variable, env[variable] ?? `${fallback}`, reason));
    else given.add((ports[variable] = /** @type {number} */ (port)));
  }
  if (problems.length > 0) throw new StartError(problems.join('\n'));
  return ports;
}

/** @param {string} variable @param {string} value @param {string} reason */
function portProblem(variable, value, reason) {
  const example = `Choose another one: ${variable}=9090 npm start`;
  if (reason === 'not-a-port') return `${variable}=${value} is not a port (1 to 65535). ${example}`;
  if (reason === 'EADDRINUSE') return `Port ${value} (${variable}) is taken. ${example}`;
  return `Port ${value} (${variable}) cannot be used (${reason}). ${example}`;
}

/** @param {string | undefined} text @param {number} fallback @returns {number | undefined} */
function parsePort(text, fallback) {
  if (text === undefined || text === '') return fallback;
  const port = Number(text);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

/** @param {number} port @returns {Promise<string | undefined>} */
async function whyNot(port) {
  // Some systems allow a loopback listener beside one on all addresses. Browsers first look for `localhost` at ::1, where the shop does not listen.
  for (const host of ['127.0.0.1', '0.0.0.0', '::1']) {
    try {
      await listenOnce(port, host);
    } catch (error) {
      const { code = String(error) } = /** @type {NodeJS.ErrnoException} */ (error);
      const hasNoIpv6 = host === '::1' && code !== 'EADDRINUSE';
      if (!hasNoIpv6) return code;
    }
  }
  return undefined;
}

/** @param {number} port @param {string} host @returns {Promise<number>} */
function listenOnce(port, host) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const bound = /** @type {import('node:net').AddressInfo} */ (server.address()).port;
      server.close(() => resolve(bound));
    });
  });
}
