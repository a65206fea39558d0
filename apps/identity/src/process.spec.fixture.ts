import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

// Identity's entry points as processes of their own, from the built files: tests are run after a build.

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const launch = (entry: string, args: readonly string[], environment: Record<string, string>): ChildProcess => {
  const file = fileURLToPath(new URL(`../dist/${entry}.js`, import.meta.url));
  const env = { PATH: process.env['PATH'] ?? '', ...environment };
  return spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
};

/** Runs a command of an operator to its end. */
export async function runEntry(
  entry: 'set-role' | 'rotate-signing-key' | 'revoke-signing-key',
  args: readonly string[],
  environment: Record<string, string>,
): Promise<Ended> {
  const child = launch(entry, args, environment);
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => (output[stream] += chunk.toString()));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

/** A replica that can be killed. */
export interface ReplicaProcess {
  /** As the kernel does it: nothing of the process runs any more. */
  kill(): Promise<void>;
}

/** Resolves when it answers calls. */
export async function startReplicaProcess(environment: Record<string, string>): Promise<ReplicaProcess> {
  const child = launch('main', [], environment);
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`identity ended: ${log}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        log += chunk.toString();
        if (log.includes('"msg":"answering"')) resolve();
      });
    }
  });
  return {
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
