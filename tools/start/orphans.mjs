import { stopOrphan } from './postgres.mjs';
import { stopStranger } from './processes.mjs';
import { readRun } from './run-file.mjs';

/**
 * Stops processes left by a killed launcher: services and NATS by its run file, Postgres by its own pid file, since it needs
 * other signals and more time.
 * @param {import('./data-dir.mjs').DataDir} dataDir
 * @param {(message: string) => void} say
 */
export async function endOrphans(dataDir, say) {
  const run = readRun(dataDir.runFile);
  if (!run) return;
  say('Cleaning up after an earlier run');
  const left = [...Object.values(run.services).flat(), run.nats, run.jetstream];
  await Promise.all(
    left.map(async (entry) => {
      if (entry?.pid === undefined || entry.began === undefined) return;
      await stopStranger({ pid: entry.pid, began: entry.began }, [{ signal: 'SIGTERM', limitMs: 5_000 }]);
    }),
  );
  await stopOrphan(dataDir.postgres);
}
