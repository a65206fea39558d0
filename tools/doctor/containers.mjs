import { attempt } from '../start/command.mjs';
import { passed, unknown, wrong } from './finding.mjs';

/** @typedef {import('./finding.mjs').Finding} Finding */

/**
 * A container in the output of `docker compose ps --format json`.
 * @typedef {object} Container
 * @property {string} Name
 * @property {string} Service
 * @property {string} State such as running or exited
 * @property {string} Health empty if the container has no health check
 * @property {number} ExitCode
 * @property {{ PublishedPort: number }[] | null} Publishers
 */

/**
 * Returns this checkout's containers; none if Docker is not installed or does not respond.
 * @param {string} root of the checkout
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Container[]>}
 */
export async function containersOf(root, env) {
  const ps = await attempt('docker', ['compose', 'ps', '--all', '--format', 'json'], { cwd: root, env }).catch(() => undefined);
  return ps?.code === 0 ? parse(ps.output) : [];
}

/** Parses an array (Compose up to 2.20) or one object per line (later versions). @param {string} output @returns {Container[]} */
export const parse = (output) =>
  output.split('\n').filter((one) => /^[[{]/.test(one)).flatMap((one) => JSON.parse(one));

/** @param {readonly Container[]} containers @returns {Finding[]} */
export function checkContainers(containers) {
  return [
    ...containers.map(checkContainer),
    ...containers.flatMap(({ Name, Publishers }) => portsOf(Publishers).map((port) => passed(`port ${port}`, `published by container ${Name}`))),
    unknown('databases, NATS, clocks, lag', 'not checked: only containers can reach them', 'docker compose --profile observability up --detach shows their metrics'),
  ];
}

/** @param {Container} container @returns {Finding} */
function checkContainer({ Name, Service, State, Health, ExitCode }) {
  const about = `container ${Name}`;
  const logs = `docker compose logs ${Service}`;
  if (State === 'exited' && ExitCode === 0 && Service.endsWith('-migrate')) return passed(about, 'has migrated');
  if (State === 'running' && Health === 'starting') return unknown(about, 'starting', `run this again in a minute; if it is still starting: ${logs}`);
  if (State === 'running' && ['', 'healthy'].includes(Health)) return passed(about, Health || 'running');
  return wrong(about, State === 'running' ? Health : `${State} (exit code ${ExitCode})`, State === 'exited' && ExitCode === 0 ? 'docker compose up --detach' : logs);
}

/** Returns the published ports. Compose lists a port twice for IPv4 and IPv6, and an unpublished one as 0. @param {Container['Publishers']} publishers */
const portsOf = (publishers) => [...new Set((publishers ?? []).map(({ PublishedPort }) => PublishedPort))].filter((port) => port > 0);
