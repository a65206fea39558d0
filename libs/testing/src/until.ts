import { setTimeout as pause } from 'node:timers/promises';

type Condition = () => Promise<boolean> | boolean;

/**
 * Polls until a condition holds that another process or a background loop brings about, so that tests never sleep. The limit is long
 * enough for a busy machine, and shorter than Jest's timeout, so that a hanging test fails with a clear message.
 */
export async function until(condition: Condition, limitMs = 25_000, everyMs = 20): Promise<void> {
  if (!(await becomesTrue(condition, limitMs, everyMs))) throw new Error(`the condition did not become true within ${limitMs} ms`);
}

/** Polls a condition. @returns whether it became true within the limit */
export async function becomesTrue(condition: Condition, limitMs: number, everyMs = 100): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await pause(everyMs);
  }
  return true;
}
