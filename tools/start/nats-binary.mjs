import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { attempt, run } from './command.mjs';
import { StartError } from './errors.mjs';
import { cacheFolder } from './system-user.mjs';

const DOCKER_IMAGE = 'nats:2.12';

/**
 * How a NATS server can be started here.
 * @typedef {{ binary: string } | { image: string }} NatsServer
 */

/**
 * Finds a NATS server: an installed one, else Debian's package unpacked into the cache (nothing is installed), else Docker.
 * @param {{ signal: AbortSignal, say: (message: string) => void }} options
 * @returns {Promise<NatsServer>}
 */
export async function findNats({ signal, say }) {
  const cached = join(cacheFolder(undefined), 'nats-server');
  const installed = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean).map((folder) => join(folder, 'nats-server'));
  const binary = [...installed, cached].find((path) => existsSync(path));
  if (binary) return { binary };

  if (await downloaded(cached, { signal, say })) return { binary: cached };
  const docker = await attempt('docker', ['version', '--format', '{{.Server.Version}}'], { signal }).catch(() => undefined);
  signal.throwIfAborted();
  if (docker?.code === 0) return { image: DOCKER_IMAGE };
  throw new StartError(
    'There is no NATS server, and none could be fetched. Any of these helps:\n' +
      '  - install nats-server, so that it is on the PATH (https://docs.nats.io/running-a-nats-service/introduction/installation)\n' +
      '  - start Docker\n' +
      '  - name a running server: NATS_URL=nats://127.0.0.1:4222 npm start',
  );
}

/**
 * Fetches Debian's or Ubuntu's package as any user may, and takes the binary out of it.
 * @param {string} target
 * @param {{ signal: AbortSignal, say: (message: string) => void }} options
 */
async function downloaded(target, { signal, say }) {
  if (!existsSync('/usr/bin/apt-get')) return false;
  say('No NATS server found: fetching the package nats-server');
  const cache = cacheFolder(undefined);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'nats-'));
  // As root, apt would fetch as a user of its own who cannot write here.
  const asMe = ['-q', '-o', 'APT::Sandbox::User=root'];
  const ownLists = ['-o', `Dir::State::lists=${join(work, 'lists')}`, '-o', `Dir::Cache=${join(work, 'cache')}`];
  try {
    const apt = (/** @type {string[]} */ ...args) => attempt('apt-get', [...asMe, ...args], { cwd: work, signal });
    const fetch = async () => {
      if ((await apt('download', 'nats-server')).code === 0) return true;
      // The machine's package lists are missing or too old: ours, for this once.
      mkdirSync(join(work, 'lists', 'partial'), { recursive: true });
      mkdirSync(join(work, 'cache', 'archives', 'partial'), { recursive: true });
      await apt(...ownLists, 'update');
      return (await apt(...ownLists, 'download', 'nats-server')).code === 0;
    };
    if (!(await fetch())) return false;
    const archive = readdirSync(work).find((name) => name.endsWith('.deb')) ?? '';
    await run('dpkg-deb', ['-x', archive, 'unpacked'], { what: 'Unpacking nats-server', cwd: work, signal });
    const binary = ['usr/sbin', 'usr/bin'].map((folder) => join(work, 'unpacked', folder, 'nats-server')).find((path) => existsSync(path));
    if (!binary) return false;
    renameSync(binary, target);
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
