import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A NATS server of its own for one test file: files run in parallel and would answer each other's calls. */
export interface TestNats {
  readonly url: string;
  readonly pid: number;
  /** Ends the server; `restart` brings an empty one back on the same port. */
  stop(): Promise<void>;
  restart(): Promise<void>;
}

export async function startNats(): Promise<TestNats> {
  const binary = process.env['TEST_NATS_SERVER_BINARY'];
  if (!binary) throw new Error('TEST_NATS_SERVER_BINARY is missing: run the tests with npm test, which brings one.');
  const port = await freePort();
  let server = await launch(binary, port);
  const stop = async (): Promise<void> => {
    if (server.exitCode !== null) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  };
  return {
    url: `nats://127.0.0.1:${port}`,
    get pid() {
      return server.pid ?? 0;
    },
    stop,
    restart: async () => {
      await stop();
      server = await launch(binary, port);
    },
  };
}

async function launch(binary: string, port: number): Promise<ReturnType<typeof spawn>> {
  const server = spawn(binary, ['-a', '127.0.0.1', '-p', String(port)], { stdio: ['ignore', 'ignore', 'pipe'] });
  await new Promise<void>((resolve, reject) => {
    let log = '';
    server.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      if (log.includes('Server is ready')) resolve();
    });
    server.once('exit', (code) => reject(new Error(`nats-server ended with ${String(code)}: ${log}`)));
  });
  return server;
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
