import { describe, expect, it } from '@jest/globals';
import * as library from '@plant-shop/client';
import { allReady, kill } from '../internals.js';
import { createPlant, until } from '../shop.js';
import { followThroughKills, placeThroughFaults } from './guarantees.js';

const killInTurn = (services: readonly string[]) => async (): Promise<void> => {
  for (const service of services) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    kill(service);
    // The readiness check fails as long as the gateway is down.
    await until(() => allReady().then(() => true, () => false), 60_000);
  }
};

describe('the client library, while services are killed and connections break', () => {
  it('places each order once', async () => {
    const { id } = await createPlant({ quantity: 1_000 });
    expect(await placeThroughFaults(library, id, 80, killInTurn(['gateway', 'store']))).toEqual([]);
  }, 180_000);

  it('delivers each event once and in order to a consumer that is killed too', async () => {
    const { id } = await createPlant({ quantity: 1_000 });
    expect(await followThroughKills(library, id, 12, { meanwhile: killInTurn(['notifications', 'identity']) })).toEqual([]);
  }, 180_000);
});
