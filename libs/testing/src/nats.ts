import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './port.js';
import { until } from './until.js';

/** The NATS server of one test file. Files run in parallel and would answer each other's calls on a shared server. */
export interface TestNats {
  readonly url: string;
  readonly pid: number;
  /** Kills the server. */
  stop(): Promise<void>;
  /** Starts an empty server on the same port. */
  restart(): Promise<void>;
  /** Suspends the process: the server stays connected but does not respond. */
  pause(): Promise<void>;
  resume(): void;
  /** Replaces the configuration of the running server. */
  reconfigure(config: string): Promise<void>;
}

/** Starts a server. @param config text in the server's configuration format, for tests of accounts and permissions */
export async function startNats({ config = '' }: { readonly config?: string } = {}): Promise<TestNats> {
  const binary = process.env['TEST_NATS_SERVER_BINARY'];
  if (!binary) throw new Error('TEST_NATS_SERVER_BINARY is missing: run the tests with npm test, which provides one.');
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'test-nats-'));
  const configFile = join(folder, 'nats.conf');
  const launch = async (): Promise<ChildProcess> => {
    await mkdir(folder, { recursive: true });
    await writeFile(configFile, config);
    const started = spawn(binary, ['-c', configFile, '-a', '127.0.0.1', '-p', String(port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await logged(started, 'Server is ready');
    return started;
  };
  let server = await launch();
  const stop = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true });
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
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
      const reloaded = logged(server, 'Reloaded server configuration');
      server.kill('SIGHUP');
      await reloaded;
    },
  };
}

/** Waits until the process is stopped: it obeys SIGSTOP with a delay, and on a busy machine handles some more messages before. */
async function stopped(pid: number): Promise<void> {
  if (process.platform !== 'linux') await new Promise((resolve) => setTimeout(resolve, 200));
  else await until(async () => / [Tt] /.test((await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\)/, '')));
}

/** Waits until the server's log contains a text. */
function logged(server: ChildProcess, text: string): Promise<void> {
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

