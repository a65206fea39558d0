import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { attempt } from './command.mjs';
import { fetchBinary } from './debian-package.mjs';
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

  if (await fetchBinary({ name: 'nats-server', binary: 'nats-server' }, cached, { signal, say })) return { binary: cached };
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
