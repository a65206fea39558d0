import { connect, type LookupFunction, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { buildConnector } from 'undici';
import { hostOf, type TargetGuard } from '../endpoints/target-guard.js';

export interface ConnectorOptions {
  /** Time limit of look-up, connection and TLS together. */
  readonly limitMs: number;
  /** Trusted in addition to the system's certificate authorities. */
  readonly ca?: string;
}

/**
 * Opens connections for undici. Resolves the name and checks its addresses, connects to exactly those, and checks the connected
 * address before the first byte is written.
 */
export const guardedConnector =
  (guard: TargetGuard, options: ConnectorOptions): buildConnector.connector =>
  ({ protocol, hostname, port }, callback) => {
    const url = new URL(`${protocol}//${hostname.includes(':') && !hostname.startsWith('[') ? `[${hostname}]` : hostname}:${port}`);
    open(guard, url, options).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error as Error, null),
    );
  };

async function open(guard: TargetGuard, url: URL, { limitMs, ca }: ConnectorOptions): Promise<Socket> {
  const end = performance.now() + limitMs;
  const addresses = await guard.addressesOf(url);
  const host = hostOf(url);
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  const socket = connect({ host, port, lookup: pinnedTo(addresses), autoSelectFamily: true, noDelay: true, keepAlive: true });
  await ready(socket, 'connect', end);
  try {
    guard.assertConnected(url, socket.remoteAddress);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  if (url.protocol === 'http:') return socket;
  const secure = connectTls({
    socket,
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ALPNProtocols: ['http/1.1'],
    ...(ca !== undefined && { ca }),
  });
  return ready(secure, 'secureConnect', end);
}

/** Answers every look-up with the addresses that were checked. */
const pinnedTo =
  (addresses: readonly string[]): LookupFunction =>
  (_hostname, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = found;
    if (all) callback(null, found);
    else callback(null, first?.address ?? '', first?.family);
  };

function ready<S extends Socket>(socket: S, event: 'connect' | 'secureConnect', until: number): Promise<S> {
  return new Promise((resolve, reject) => {
    const end = (error?: Error): void => {
      clearTimeout(timer);
      socket.off(event, onReady).off('error', end).off('close', onClose);
      if (!error) {
        resolve(socket);
        return;
      }
      // Ignores later errors of the socket.
      socket.on('error', () => undefined).destroy();
      reject(error);
    };
    const onReady = (): void => end();
    const onClose = (): void => end(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
    const timer = setTimeout(() => end(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })), Math.max(0, until - performance.now()));
    socket.once(event, onReady).once('error', end).once('close', onClose);
  });
}
