// The attacker, in a process of its own that yields to shop and honest clients.
import { setPriority } from 'node:os';
import { Attacker, attacks } from './attacks.mjs';

setPriority(10);
/** @type {Attacker | undefined} */
let attacker;

process.on('message', async (/** @type {{ attack?: string, prey: import('./attacks.mjs').Prey }} */ { attack, prey }) => {
  if (attack !== undefined) {
    attacker = new Attacker(prey);
    void attacks[attack]?.(attacker);
  } else {
    await attacker?.stop();
  }
  process.send?.({ answers: attacker?.answers });
});
process.send?.({});
