import { allReady, kill } from '../internals.js';
import { until } from '../shop.js';

/** Kills services one after another, each when the shop is ready again. */
export async function killInTurn(services: readonly string[]): Promise<void> {
  for (const service of services) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    kill(service);
    // The readiness check fails as long as the gateway is down.
    await until(() => allReady().then(() => true, () => false), 60_000);
  }
}
