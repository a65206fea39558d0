import { stopOrphan } from './postgres.mjs';
import { stopStranger } from './processes.mjs';
import { readRun } from './run-file.mjs';

/**
 * Ends what a launcher that was killed left running: services and NATS by the marks in its run file, Postgres by its own
 * pid file, because it needs its own signals and time.
 * @param {import('./data-dir.mjs').DataDir} dataDir
 * @param {(message: string) => void} say
 */
export async function endOrphans(dataDir, say) {
  const run = readRun(dataDir.runFile);
  if (!run) return;
  say('The last run could not clean up: doing that now');
  const left = [...Object.values(run.services).flat(), run.nats];
  await Promise.all(
    left.map(async (entry) => {
      if (entry?.pid === undefined || entry.began === undefined) return;
      await stopStranger({ pid: entry.pid, began: entry.began }, [{ signal: 'SIGTERM', limitMs: 5_000 }]);
    }),
  );
  await stopOrphan(dataDir.postgres);
}
