import { describe, expect, it } from '@jest/globals';
import * as library from '@plant-shop/client';
import { createPlant } from '../shop.js';
import { placeThroughFaults } from './guarantees.js';
import { killInTurn } from './kill-in-turn.js';

describe('the client library, while gateway and store are killed and connections break', () => {
  it('places each order once', async () => {
    const { id } = await createPlant({ quantity: 1_000 });
    expect(await placeThroughFaults(library, id, 80, () => killInTurn(['gateway', 'store']))).toEqual([]);
  }, 180_000);
});
