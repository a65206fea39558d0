import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { freePort } from './port.js';

/** A TCP relay to a real server: the network between the two, which can fail in ways that a server cannot be told to. */
export interface TestProxy {
  readonly port: number;
  /**
   * Passes nothing on any more, in either direction, and closes nothing: the host at the other end has vanished. New
   * connections are served.
   */
  stall(): void;
  /** Like `stall`, and accepts new connections without serving them, until `admit`. */
  stallAll(): void;
  /** Serves new connections again; those that stall still do. */
  admit(): void;
  /** Ends `stall`: what both ends sent meanwhile arrives now. */
  resume(): void;
  /** Passes nothing on from the server any more: what is asked is done, and the answer is lost. */
  deafen(): void;
  /** Ends `deafen`: what the server said meanwhile arrives now. */
  hear(): void;
  /** Passes at most so many bytes a second on to the server, on each connection made from now on. */
  slowDown(bytesPerSecond: number): void;
  /** Ends every connection. New ones are served. */
  drop(): void;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** New connections are served again; the old ones stay as they are. */
  restore(): Promise<void>;
  /** New connections go to the first of these servers that accepts them, tried in random order. */
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
    // What breaks here is what the test wants to break.
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
