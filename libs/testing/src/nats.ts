import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './port.js';
import { until } from './until.js';

/** A NATS server of its own for one test file: files run in parallel and would answer each other's calls. */
export interface TestNats {
  readonly url: string;
  readonly pid: number;
  /** Ends the server; `restart` brings an empty one back on the same port. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Stops and continues the process: a server that is there and says nothing. */
  pause(): Promise<void>;
  resume(): void;
  /** Replaces the configuration of the running server. */
  reconfigure(config: string): Promise<void>;
}

/** `config` is text in the server's own format, for tests of accounts and permissions. */
export async function startNats({ config = '' }: { readonly config?: string } = {}): Promise<TestNats> {
  const binary = process.env['TEST_NATS_SERVER_BINARY'];
  if (!binary) throw new Error('TEST_NATS_SERVER_BINARY is missing: run the tests with npm test, which brings one.');
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'test-nats-'));
  const configFile = join(folder, 'nats.conf');
  const launch = async (): Promise<ChildProcess> => {
    await mkdir(folder, { recursive: true });
    await writeFile(configFile, config);
    const started = spawn(binary, ['-c', configFile, '-a', '127.0.0.1', '-p', String(port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await said(started, 'Server is ready');
    return started;
  };
  let server = await launch();
  const stop = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true });
    if (server.exitCode !== null || server.signalCode !== null) return;
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
      server = await launch();
    },
    pause: async () => {
      server.kill('SIGSTOP');
      await stopped(server.pid ?? 0);
    },
    resume: () => void server.kill('SIGCONT'),
    reconfigure: async (text) => {
      await writeFile(configFile, text);
      const reloaded = said(server, 'Reloaded server configuration');
      server.kill('SIGHUP');
      await reloaded;
    },
  };
}

/** The signal is sent at once and obeyed a little later, on a busy machine after some more messages. */
async function stopped(pid: number): Promise<void> {
  if (process.platform !== 'linux') await new Promise((resolve) => setTimeout(resolve, 200));
  else await until(async () => / [Tt] /.test((await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\)/, '')));
}

/** Waits for a line of the server's log. */
function said(server: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    const onData = (chunk: Buffer): void => {
      log += chunk.toString();
      if (!log.includes(text)) return;
      server.off('exit', onExit);
      server.stderr?.off('data', onData).resume();
      resolve();
    };
    const onExit = (code: number | null): void => {
      reject(new Error(`nats-server ended with ${String(code)}: ${log}`));
    };
    server.stderr?.on('data', onData);
    server.once('exit', onExit);
  });
}

