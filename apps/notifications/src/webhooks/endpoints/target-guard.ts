import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const noAddress = new Set(['ENODATA', 'ENOTFOUND']);

/**
 * Resolves names by DNS only, A and AAAA together. It avoids the system's `getaddrinfo`, whose four threads serve the whole process:
 * a few names whose servers do not respond would block them all.
 */
export async function resolveByDns(hostname: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  if (found.length > 0) return found;
  const reasons = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason as NodeJS.ErrnoException] : []));
  throw reasons.find(({ code }) => !noAddress.has(code ?? '')) ?? reasons[0] ?? new Error('no answer');
}

/** Refuses a target. The message is shown to the endpoint's owner. */
export class TargetRefused extends Error {}

/** Resolves a name to all its addresses. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface GuardOptions {
  readonly httpsOnly: boolean;
  /** `host:port`, or `host:*` for all ports: allowed with any address that they resolve to. */
  readonly allowed: readonly string[];
}

/** Below 1024 only the ports of HTTP are allowed; from 1024, all but the bad ports of the Fetch standard. */
const lowPorts = new Set([80, 443]);
const badPorts = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** Names of this machine or of its network. */
const innerName = /(^|\.)(localhost|local|internal|intranet|home\.arpa|in-addr\.arpa|ip6\.arpa)$/;

/** Ranges that are not public, although the library (2.5.0) calls them unicast. */
const blocked = [
  '192.0.0.0/24', // IETF protocol assignments, some clouds' metadata
  '192.88.99.0/24', // relays of 6to4
  '168.63.129.16/32', // Azure's metadata
  '2001::/23', // IETF protocol assignments
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
].map((range) => ipaddr.parseCIDR(range));

/** The only IPv6 range that is assigned for public use. */
const globalV6 = ipaddr.parseCIDR('2000::/3');

/**
 * Keeps webhooks from reaching internal addresses (SSRF). It checks the URL when an endpoint is created or changed and at each
 * attempt, every address that its name resolves to, and the address that was connected to.
 */
export class TargetGuard {
  private readonly allowed: ReadonlySet<string>;

  constructor(
    private readonly options: GuardOptions,
    /** Resolves names that are not in `allowed`. */
    private readonly resolve: Resolve,
  ) {
    this.allowed = new Set(options.allowed.map((entry) => entry.toLowerCase()));
  }

  /** Returns what is wrong with a URL, without resolving its name; completes "the URL …". */
  faultOf(address: string | URL): string | undefined {
    const url = typeof address === 'string' ? URL.parse(address) : address;
    if (!url) return 'must be a URL';
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an http or https URL';
    if (url.username !== '' || url.password !== '') return 'must not hold credentials';
    if (this.isAllowed(url)) return undefined;
    if (this.options.httpsOnly && url.protocol !== 'https:') return 'must be an https URL';
    const port = portOf(url);
    if (port < 1024 ? !lowPorts.has(port) : badPorts.has(port)) return `must not have port ${port}`;
    const host = hostOf(url);
    if (isIP(host) !== 0) return isPublic(host) ? undefined : 'must not lead to an address that is not public';
    return innerName.test(host) || !host.includes('.') ? 'must not use an internal name' : undefined;
  }

  /**
   * Resolves a URL to addresses.
   * @throws TargetRefused when any of them is not public
   */
  async addressesOf(url: URL): Promise<readonly string[]> {
    const fault = this.faultOf(url);
    if (fault !== undefined) throw new TargetRefused(`The URL ${fault}.`);
    const host = hostOf(url);
    if (isIP(host) !== 0) return [host];
    if (this.isAllowed(url)) return (await lookup(host, { all: true })).map(({ address }) => address);
    const addresses = await this.resolve(host);
    if (!addresses.every(isPublic)) throw refused();
    return addresses;
  }

  /**
   * Checks the address of a connection before anything is written to it.
   * @throws TargetRefused when it is not public
   */
  assertConnected(url: URL, address: string | undefined): void {
    if (this.isAllowed(url)) return;
    if (address === undefined || !isPublic(address)) throw refused();
  }

  private isAllowed(url: URL): boolean {
    const host = url.hostname.toLowerCase();
    return this.allowed.has(`${host}:${portOf(url)}`) || this.allowed.has(`${host}:*`);
  }
}

const refused = (): TargetRefused => new TargetRefused('The URL leads to an address that is not public.');

const portOf = (url: URL): number => Number(url.port || (url.protocol === 'https:' ? 443 : 80));

/** Returns the host without the brackets of an IPv6 address and the final dot of a name. `URL` has normalised IPv4 addresses. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '').toLowerCase();

/** Returns whether an address is known to be public. */
export function isPublic(text: string): boolean {
  if (!ipaddr.isValid(text) || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  // The library reports mapped, NAT64, 6to4, Teredo and similar addresses as separate ranges, so they are refused: IPv4 targets must be
  // written as IPv4 addresses.
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv6' && !address.match(globalV6)) return false;
  return !blocked.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
}
