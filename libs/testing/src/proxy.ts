import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { freePort } from './port.js';

/** A TCP proxy in front of a real server, which simulates network failures. */
export interface TestProxy {
  readonly port: number;
  /** Stops forwarding in both directions without closing connections, as if the peer's host had vanished. New connections work. */
  stall(): void;
  /** Like `stall`, but also stalls new connections, until `admit`. */
  stallAll(): void;
  /** Forwards new connections again; stalled ones stay stalled. */
  admit(): void;
  /** Ends `stall`: what both ends sent meanwhile arrives now. */
  resume(): void;
  /** Stops forwarding from the server to the client: requests take effect, and their answers are lost. */
  deafen(): void;
  /** Ends `deafen`: what the server sent meanwhile arrives now. */
  hear(): void;
  /** Limits the bytes per second from the client to the server, on each new connection. */
  slowDown(bytesPerSecond: number): void;
  /** Closes all connections. New ones work. */
  drop(): void;
  /** Closes all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts new connections again; existing ones stay as they are. */
  restore(): Promise<void>;
  /** Forwards each new connection to the first of these servers that accepts it, tried in random order. */
  retarget(targets: readonly ProxyTarget[]): void;
  stop(): Promise<void>;
}

export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
}

export async function startProxy(...servers: readonly ProxyTarget[]): Promise<TestProxy> {
  let targets = servers;
  const sockets = new Set<Socket>();
  const clients = new Map<Socket, Socket>();
  let admits = true;
  let bytesPerSecond = Infinity;
  const track = (socket: Socket): void => {
    sockets.add(socket);
    // Ignores errors, which the test causes.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  };
  const relay = (client: Socket, [target, ...others]: readonly ProxyTarget[]): void => {
    if (!target || client.destroyed) {
      client.destroy();
      return;
    }
    const upstream = connect(target.port, target.host);
    track(upstream);
    const abandon = (): Socket => upstream.destroy();
    client.once('close', abandon);
    const next = (): void => {
      client.off('close', abandon);
      relay(client, others);
    };
    upstream.once('error', next);
    upstream.once('connect', () => {
      upstream.off('error', next);
      clients.set(upstream, client);
      if (admits && bytesPerSecond < Infinity) client.pipe(throttle(bytesPerSecond)).pipe(upstream).pipe(client);
      else if (admits) client.pipe(upstream).pipe(client);
      upstream.once('close', () => {
        clients.delete(upstream);
        client.destroy();
      });
    });
  };
  const server = createServer((client) => {
    track(client);
    relay(client, inRandomOrder(targets));
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const port = await freePort();
  await listen(port);
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const cut = async (): Promise<void> => {
    drop();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  const stall = (): void => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return {
    port,
    stall,
    stallAll: () => {
      admits = false;
      stall();
    },
    admit: () => {
      admits = true;
    },
    resume: () => {
      for (const [upstream, client] of clients) upstream.unpipe().pipe(client).unpipe().pipe(upstream);
    },
    deafen: () => {
      for (const upstream of clients.keys()) upstream.unpipe().pause();
    },
    hear: () => {
      for (const [upstream, client] of clients) upstream.pipe(client);
    },
    slowDown: (limit) => {
      bytesPerSecond = limit;
    },
    drop,
    cut,
    restore: async () => {
      if (!server.listening) await listen(port);
    },
    retarget: (others) => {
      targets = others;
    },
    stop: cut,
  };
}

function throttle(bytesPerSecond: number): Transform {
  return new Transform({
    transform: (chunk: Buffer, _, done) => setTimeout(() => done(null, chunk), (chunk.length / bytesPerSecond) * 1_000),
  });
}

const inRandomOrder = <T>(all: readonly T[]): T[] =>
  all.map((one) => ({ one, at: Math.random() })).sort((a, b) => a.at - b.at).map(({ one }) => one);
