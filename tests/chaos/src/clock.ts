/** Milliseconds since this process started: the clock of histories. */
export const now = (): number => performance.now();

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** Polls a condition. @returns whether it became true within the limit */
export async function until(condition: () => boolean | Promise<boolean>, limitMs: number, everyMs = 100): Promise<boolean> {
  const end = now() + limitMs;
  while (now() < end) {
    if (await condition()) return true;
    await pause(everyMs);
  }
  return condition();
}
