/** Milliseconds since this process started: the clock of histories. */
export const now = (): number => performance.now();

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
