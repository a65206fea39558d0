/** Waits until the condition holds: what happens in another process has no event here. */
export async function waitUntil(condition: () => boolean | Promise<boolean>, limitMs = 15_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
