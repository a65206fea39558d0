import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

// Runs identity's built entry points as separate processes, so tests need a build first.

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const launch = (entry: string, args: readonly string[], environment: Record<string, string>): ChildProcess => {
  const file = fileURLToPath(new URL(`../dist/${entry}.js`, import.meta.url));
  const env = { PATH: process.env['PATH'] ?? '', ...environment };
  return spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
};

/** Runs an operator command until it exits. */
export async function runOperatorCommand(
  entry: 'set-role' | 'remove-factors' | 'rotate-signing-key' | 'revoke-signing-key',
  args: readonly string[],
  environment: Record<string, string>,
): Promise<CommandResult> {
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
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
}

/** Resolves when the replica answers calls. */
export async function startReplicaProcess(environment: Record<string, string>): Promise<ReplicaProcess> {
  const child = launch('main', [], environment);
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`identity ended: ${log}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        log += chunk.toString();
        if (log.includes('"msg":"listening"')) resolve();
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
