import type { Arena } from './arena.js';
import type { Random } from './random.js';
import { keyed, markOf } from './stubborn.js';

/** Staff make something new, with a key. */
export async function office({ staff }: Arena, random: Random): Promise<void> {
  const mark = markOf(random);
  const kinds = [
    () => keyed(random, (key) => staff.make('plant', mark, key, '/v3/plant', { name: mark })),
    () => keyed(random, (key) => staff.make('user', mark, key, '/v3/user', { username: mark, password: 'a long enough password' })),
    () => keyed(random, (key) => staff.make('OAuth client', mark, key, '/v3/oauth/clients', { name: mark, grantTypes: ['client_credentials'], scopes: ['read:orders'], owner: 'admin' })),
  ];
  await random.pick(kinds)();
}
