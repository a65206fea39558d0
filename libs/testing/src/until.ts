/** Waits for something that another process or a background loop brings about; tests never sleep for a guess. */
export async function until(condition: () => Promise<boolean> | boolean, limitMs = 10_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`the condition did not come true within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
