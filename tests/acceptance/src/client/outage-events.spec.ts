import { describe, expect, it } from '@jest/globals';
import * as library from '@plant-shop/client';
import { createPlant } from '../shop.js';
import { followThroughKills } from './guarantees.js';
import { killInTurn } from './kill-in-turn.js';

describe('the client library, while notifications and identity are killed and connections break', () => {
  it('delivers each event once and in order to a consumer that is killed too', async () => {
    const { id } = await createPlant({ quantity: 1_000 });
    expect(await followThroughKills(library, id, 12, { meanwhile: () => killInTurn(['notifications', 'identity']) })).toEqual([]);
  }, 180_000);
});
