import { describe, expect, it } from '@jest/globals';
import * as library from '@plant-shop/client';
import { allReady, kill } from '../inside.js';
import { createPlant, until } from '../shop.js';
import { followThroughKills, placeThroughFaults } from './promises.js';

const killed = (services: readonly string[]) => async (): Promise<void> => {
  for (const service of services) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    kill(service);
    // While the gateway is away, nobody can be asked.
    await until(() => allReady().then(() => true, () => false), 60_000);
  }
};

describe('the client library, while services are killed and the network breaks', () => {
  it('places each order once', async () => {
    const { id } = await createPlant({ quantity: 1_000 });
    expect(await placeThroughFaults(library, id, 80, killed(['gateway', 'store']))).toEqual([]);
  }, 180_000);

  it('gives each event once, in order, to a consumer that is killed as well', async () => {
    const { id } = await createPlant({ quantity: 1_000 });
    expect(await followThroughKills(library, id, 12, { meanwhile: killed(['notifications', 'identity']) })).toEqual([]);
  }, 180_000);
});
