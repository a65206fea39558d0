/**
 * Polls until a condition holds that another process or a background loop brings about, so that tests never sleep. The limit is long
 * enough for a busy machine, and shorter than Jest's timeout, so that a hanging test fails with a clear message.
 */
export async function until(condition: () => Promise<boolean> | boolean, limitMs = 25_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`the condition did not become true within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
