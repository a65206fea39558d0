/**
 * Waits for something that another process or a background loop brings about; tests never sleep for a guess. The limit finds what
 * hangs, also on a machine that is busy, and says so before Jest's own limit of a test.
 */
export async function until(condition: () => Promise<boolean> | boolean, limitMs = 25_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`the condition did not come true within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
