import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

/** Returns the path of a request target, without query and origin: both may contain secrets (a password before the @). */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}

/**
 * Returns the key under which anonymous clients are rate-limited: the IPv4 address, or the /64 prefix of an IPv6 address, since a
 * client can choose the other 64 bits freely. Returns any other text unchanged.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  const [plain = ''] = address.split('%', 1);
  if (!isIPv6(plain)) return address;
  const [before = '', after] = plain.split('::', 2);
  const groups = before === '' ? [] : before.split(':');
  const behind = after === undefined || after === '' ? [] : after.split(':');
  const all = [...groups, ...Array<string>(Math.max(0, 8 - groups.length - behind.length)).fill('0'), ...behind];
  return `${all
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/** Returns the network of an address by which people recognise it and programs a device: its /24, or /48 with IPv6. Providers change the rest. */
export function nearby(address: string): string {
  const network = networkOf(address);
  if (network.includes(':')) return `${network.split(':', 3).join(':')}::/48`;
  return network.includes('.') ? `${network.split('.', 3).join('.')}.0/24` : network;
}

const acceptable = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Returns the client's `X-Request-Id` if it has 1 to 128 characters of `A-Z a-z 0-9 . _ -`, else a new UUID.
 * Call it once per request: every call may generate another id.
 */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && acceptable.test(given) ? given : randomUUID();
}
