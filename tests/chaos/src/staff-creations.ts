import type { Trial } from './trial.js';
import type { Random } from './random.js';
import { withNewKey, newMark } from './retries.js';

/** Staff create a plant, user or OAuth client, with an Idempotency-Key. */
export async function createAsStaff({ staff }: Trial, random: Random): Promise<void> {
  const mark = newMark(random);
  const kinds = [
    () => withNewKey(random, (key) => staff.create('plant', mark, key, '/v3/plant', { name: mark })),
    () => withNewKey(random, (key) => staff.create('user', mark, key, '/v3/user', { username: mark, password: 'a long enough password' })),
    () => withNewKey(random, (key) => staff.create('OAuth client', mark, key, '/v3/oauth/clients', { name: mark, grantTypes: ['client_credentials'], scopes: ['read:orders'], owner: 'admin' })),
  ];
  await random.pick(kinds)();
}
