import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where nothing is sent to. The message is for the endpoint's owner. */
export class TargetRefused extends Error {}

/** Addresses of a name, all of them. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface GuardOptions {
  readonly httpsOnly: boolean;
  /** `host:port`, or `host:*` for all ports: trusted as they are, whatever they resolve to. */
  readonly allowed: readonly string[];
}

/** Below 1024, the ports of HTTP only; of the others, those that the Fetch standard calls bad. */
const lowPorts = new Set([80, 443]);
const badPorts = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** Names that mean this machine or this network. */
const innerName = /(^|\.)(localhost|local|internal|intranet|home\.arpa|in-addr\.arpa|ip6\.arpa)$/;

/** Not on the internet, although the library (2.5.0) calls them unicast. */
const blocked = [
  '192.0.0.0/24', // IETF protocol assignments, some clouds' metadata
  '192.88.99.0/24', // relays of 6to4
  '168.63.129.16/32', // Azure's metadata
  '2001::/23', // IETF protocol assignments
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
].map((range) => ipaddr.parseCIDR(range));

/** Only these are given out for use on the internet. */
const globalV6 = ipaddr.parseCIDR('2000::/3');

/**
 * Keeps webhooks from reaching what only we can reach (SSRF). Asked for the URL when an endpoint is made or changed and at
 * each attempt, for every address that its name resolves to, and for the address that was connected to.
 */
export class TargetGuard {
  private readonly allowed: ReadonlySet<string>;

  constructor(
    private readonly options: GuardOptions,
    /** Of names on the internet. */
    private readonly resolve: Resolve,
  ) {
    this.allowed = new Set(options.allowed.map((entry) => entry.toLowerCase()));
  }

  /** What is wrong with a URL before anybody looks its name up; completes "the URL …". */
  faultOf(text: string): string | undefined {
    if (!URL.canParse(text)) return 'must be a URL';
    const url = new URL(text);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an http or https URL';
    if (url.username !== '' || url.password !== '') return 'must not hold credentials';
    if (this.isAllowed(url)) return undefined;
    if (this.options.httpsOnly && url.protocol !== 'https:') return 'must be an https URL';
    const port = portOf(url);
    if (port < 1024 ? !lowPorts.has(port) : badPorts.has(port)) return `must not have port ${port}`;
    const host = hostOf(url);
    if (isIP(host) !== 0) return isPublic(host) ? undefined : 'must not lead to an address that is not public';
    return innerName.test(host) || !host.includes('.') ? 'must not lead to an inner name' : undefined;
  }

  /**
   * Where a URL leads, resolved now.
   * @throws TargetRefused when any of the addresses is one that may not be reached
   */
  async addressesOf(url: URL): Promise<readonly string[]> {
    const fault = this.faultOf(url.href);
    if (fault !== undefined) throw new TargetRefused(`The URL ${fault}.`);
    const host = hostOf(url);
    if (isIP(host) !== 0) return [host];
    if (this.isAllowed(url)) return (await lookup(host, { all: true })).map(({ address }) => address);
    const addresses = await this.resolve(host);
    if (!addresses.every(isPublic)) throw refused();
    return addresses;
  }

  /**
   * The last word, for a connection on which nothing was written yet.
   * @throws TargetRefused
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

/** Without the brackets of an IPv6 address and the dot of a full name. `URL` has read every spelling of an IPv4 address. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '').toLowerCase();

/** Whether an address belongs to the internet: what is not known to, does not. */
export function isPublic(text: string): boolean {
  if (!ipaddr.isValid(text) || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  // Mapped, NAT64, 6to4, Teredo and their like have ranges of their own: an IPv4 address is written as one, or refused.
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv6' && !address.match(globalV6)) return false;
  return !blocked.some(([range, bits]) => range.kind() === address.kind() && address.match(range, bits));
}
