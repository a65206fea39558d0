import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from './command.mjs';
import { fetchBinary } from './debian-package.mjs';
import { StartError } from './errors.mjs';
import { onPath } from './path.mjs';
import { cacheFolder } from './system-user.mjs';

/** The image of docker-compose.yml. */
const DOCKER_IMAGE = 'nats:2.14.2-alpine';

/** Before 2.9.16, half-open members stay in queue groups. Debian 12 has 2.9.10, which also has CVE-2023-47090. */
const RECENT = [2, 10];

/** Interval between searches for a newer server while the cached one is old. */
const LOOK_AGAIN_MS = 24 * 60 * 60_000;

/**
 * A way to start a NATS server on this machine.
 * @typedef {{ binary: string } | { image: string }} NatsServer
 */

/**
 * Finds a NATS server: an installed one, else the package of Debian or Ubuntu unpacked into the cache (nothing is installed), else
 * Docker.
 * @param {{ signal: AbortSignal, say: (message: string) => void }} options
 * @returns {Promise<NatsServer>}
 */
export async function findNats({ signal, say }) {
  const installed = onPath('nats-server');
  if (installed) return { binary: installed };

  const cached = join(cacheFolder(undefined), 'nats-server');
  if (await isGoodEnough(cached, signal)) return { binary: cached };
  if (await fetchBinary({ name: 'nats-server', binary: 'nats-server', newest: true }, cached, { signal, say })) return { binary: cached };
  if (existsSync(cached)) {
    writeFileSync(lookedAt(cached), '');
    return { binary: cached };
  }
  const docker = await attempt('docker', ['version', '--format', '{{.Server.Version}}'], { signal }).catch(() => undefined);
  signal.throwIfAborted();
  if (docker?.code === 0) return { image: DOCKER_IMAGE };
  throw new StartError(whatToInstall(process.platform));
}

/** Returns a line for the user. @param {string} platform */
export function whatToInstall(platform) {
  const install =
    platform === 'darwin'
      ? 'run "brew install nats-server"'
      : 'put nats-server on the PATH (https://docs.nats.io/running-a-nats-service/introduction/installation)';
  return `No NATS server was found or could be fetched: ${install}, start Docker, or name a running server in NATS_URL.`;
}

/** @param {string} binary @returns {Promise<string>} such as 2.15.1 */
export async function versionOf(binary, signal = AbortSignal.timeout(5_000)) {
  const { output } = await attempt(binary, ['--version'], { signal });
  return /v?(\d+\.\d+\.\d+\S*)/.exec(output)?.[1] ?? '0';
}

/** @param {string} cached @param {AbortSignal} signal */
async function isGoodEnough(cached, signal) {
  if (!existsSync(cached)) return false;
  if (isRecent(await versionOf(cached, signal))) return true;
  const looked = lookedAt(cached);
  return existsSync(looked) && Date.now() - statSync(looked).mtimeMs < LOOK_AGAIN_MS;
}

/** @param {string} version */
export function isRecent(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [recentMajor = 0, recentMinor = 0] = RECENT;
  return major > recentMajor || (major === recentMajor && minor >= recentMinor);
}

/** A file whose modification time is that of the last search for a newer server. @param {string} cached */
const lookedAt = (cached) => `${cached}.looked`;
