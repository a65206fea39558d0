import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, BlockList, createServer, isIPv6, type Socket } from 'node:net';
import { Counter, type Registry } from 'prom-client';
import { networkOf } from '../http/request.js';
import type { Logger } from '../logging.js';
import { gauge } from './metrics.js';

export interface ConnectionLimits {
  /** Sockets at most; never more than four fifths of the files that the process may open. A quarter of them may be silent. */
  readonly sockets: number;
  /** Sockets of one network that may be silent: that have sent no request yet. */
  readonly silentPerNetwork: number;
  /** Addresses and networks without that limit: they open connections for many clients. */
  readonly trustedProxies: readonly string[];
}

/** A connection that has sent no request. */
interface Silent {
  readonly network: string;
  /** By `performance.now`. */
  readonly since: number;
  /** Whether its network's number counts. */
  readonly isLimited: boolean;
}

/** Cheap, and enough for one client's reconnects. */
export const leastSockets = 2_000;

/** How long a connection may be silent in any case: a client that opens many at once is heard only when the event loop comes to it. */
const graceMs = 2_000;

/** The log gets one line in this time, and the metric each connection. */
const logEveryMs = 10_000;

/**
 * Closes the oldest connections that have sent no request for two seconds, beyond a number for each network and for all; and if all
 * sockets are in use, the oldest without a request in progress. A client that sends its request at once gets in.
 */
export class ConnectionLimit {
  private readonly all = new Set<Socket>();
  /** In the order of their arrival. */
  private readonly silent = new Map<Socket, Silent>();
  private readonly silentOf = new Map<string, number>();
  private readonly proxies: BlockList;
  private readonly sockets: number;
  private readonly closed: Counter<'reason'>;
  private isSweeping = false;
  private unlogged = 0;
  private loggedAt = -Infinity;

  constructor(
    private readonly limits: ConnectionLimits,
    metrics: Registry,
    private readonly logger: Logger,
  ) {
    this.sockets = Math.min(limits.sockets, Math.floor(openFileLimit() * 0.8));
    this.proxies = blockListOf(limits.trustedProxies);
    gauge(metrics, 'http_connections', 'Open connections, without streams', () => this.all.size);
    gauge(metrics, 'http_connections_silent', 'Open connections that have sent no request yet', () => this.silent.size);
    this.closed = new Counter({
      name: 'http_connections_closed_total',
      help: 'Connections closed to make room: silent ones had sent no request, idle ones had none in progress',
      labelNames: ['reason'],
      registers: [metrics],
    });
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.add(socket));
    server.on('request', ({ socket }: IncomingMessage) => this.heard(socket));
  }

  /** The socket is no longer one of the HTTP server's: it has become a stream, which is limited otherwise. */
  handOver(socket: Socket): void {
    this.heard(socket);
    this.all.delete(socket);
  }

  private add(socket: Socket): void {
    // Node remembers the address from here on. It cannot be had once the client has reset the connection, which may be before now.
    const address = socket.remoteAddress;
    if (address === undefined) {
      socket.destroy();
      return;
    }
    const network = networkOf(address);
    this.all.add(socket);
    this.silent.set(socket, { network, since: performance.now(), isLimited: !this.isProxy(address) });
    socket.once('close', () => this.handOver(socket));
    const silentOf = (this.silentOf.get(network) ?? 0) + 1;
    this.silentOf.set(network, silentOf);
    if (silentOf > this.limits.silentPerNetwork || this.silent.size > this.sockets / 4) this.sweep();
    if (this.all.size > this.sockets) this.close(this.oldestIdle(), 'idle');
  }

  /** Closes what has been silent for too long, now and as long as there are too many. */
  private sweep(): void {
    const before = performance.now() - graceMs;
    let isCrowded = false;
    for (const [socket, { network, since, isLimited }] of this.silent) {
      const isOver = this.silent.size > this.sockets / 4 || (isLimited && (this.silentOf.get(network) ?? 0) > this.limits.silentPerNetwork);
      if (since <= before) {
        if (isOver) this.close(socket, 'silent');
      } else if (isOver) {
        isCrowded = true;
        break;
      }
    }
    if (!isCrowded || this.isSweeping) return;
    this.isSweeping = true;
    setTimeout(() => {
      this.isSweeping = false;
      this.sweep();
    }, graceMs / 2).unref();
  }

  private heard(socket: Socket): void {
    const found = this.silent.get(socket);
    if (!found) return;
    this.silent.delete(socket);
    const left = (this.silentOf.get(found.network) ?? 1) - 1;
    if (left > 0) this.silentOf.set(found.network, left);
    else this.silentOf.delete(found.network);
  }

  private close(socket: Socket | undefined, reason: 'silent' | 'idle'): void {
    if (!socket) return;
    this.handOver(socket);
    socket.destroy();
    this.closed.inc({ reason });
    this.unlogged++;
    const now = performance.now();
    if (now - this.loggedAt < logEveryMs) return;
    this.logger.warn({ closed: this.unlogged, reason, open: this.all.size, silent: this.silent.size }, 'connections closed to make room');
    this.loggedAt = now;
    this.unlogged = 0;
  }

  private oldestIdle(): Socket | undefined {
    for (const socket of this.all) if (!isAnswering(socket)) return socket;
    return undefined;
  }

  private isProxy(address: string): boolean {
    return this.proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }
}

/** Whether a request is in progress. Node's own handlers look at the same internal member. */
const isAnswering = (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean => Boolean(socket._httpMessage);

/** Sockets that `listenAlso` adds. */
const more = 15;

/** Whether several sockets can listen at one address, and the kernel spreads connections over them. */
export const reusePort = process.platform === 'linux';

/**
 * Listens also with other sockets where a server listens with `reusePort`. Node accepts one connection of each in a turn of its event
 * loop: with one, a client that connects a thousand times at once delays the next one by a thousand turns, ten seconds beside other load.
 * @param address until the signal is aborted
 */
export async function listenAlso(server: Server, address: { readonly host: string; readonly backlog: number; readonly signal: AbortSignal }): Promise<void> {
  if (!reusePort) return;
  const { port } = server.address() as AddressInfo;
  const also = Array.from({ length: more }, () => createServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket)));
  await Promise.all(also.map((one) => once(one.listen({ ...address, port, reusePort }), 'listening')));
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const one of networks) {
    const [address = '', prefix] = one.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Returns how many files this process may open; Infinity without a limit, or where the system does not tell (others than Linux). */
export function openFileLimit(path = '/proc/self/limits'): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync(path, 'utf8'))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}
