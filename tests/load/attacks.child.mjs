// The attacker, in a process of its own, so that its CPU can be told from that of the honest clients. It has a machine of its own in
// reality; here it gets what shop and clients leave.
import { constants, setPriority } from 'node:os';
import { Attacker, attacks } from './attacks.mjs';

setPriority(constants.priority.PRIORITY_LOW);

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
