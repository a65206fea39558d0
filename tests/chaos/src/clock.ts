/** Milliseconds since this process began: the one clock of histories. */
export const now = (): number => performance.now();

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** @returns whether it came true in time */
export async function until(condition: () => boolean | Promise<boolean>, limitMs: number, everyMs = 100): Promise<boolean> {
  const end = now() + limitMs;
  while (now() < end) {
    if (await condition()) return true;
    await pause(everyMs);
  }
  return condition();
}
