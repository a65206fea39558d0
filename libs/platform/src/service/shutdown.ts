import type { Logger } from '../logging.js';

/** One phase of a shutdown. After its limit the next phase begins, even if it has not ended. */
export interface ShutdownPhase {
  readonly name: string;
  readonly limitMs: number;
  readonly run: () => Promise<void> | void;
}

/** Runs the phases in order. A phase that fails or exceeds its limit is logged, and the next one runs. */
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
