import type { Logger } from '../logging.js';

/** One step of the way out. It gets its own limit; when that is over, the next one begins all the same. */
export interface ShutdownPhase {
  readonly name: string;
  readonly limitMs: number;
  readonly run: () => Promise<void> | void;
}

/** Runs the phases in their order. One that fails or hangs is logged and never keeps the later ones from running. */
export async function shutDown(phases: readonly ShutdownPhase[], logger: Logger): Promise<void> {
  for (const phase of phases) {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), phase.limitMs);
    });
    try {
      const end = await Promise.race([(async () => phase.run())(), limit]);
      if (end === 'late') logger.warn({ phase: phase.name, limitMs: phase.limitMs }, 'shutdown phase took too long');
    } catch (error) {
      logger.error({ err: error, phase: phase.name }, 'shutdown phase failed');
    } finally {
      clearTimeout(timer);
    }
  }
}
