import { beforeAll, describe, expect, it } from '@jest/globals';
import { allReady, kill, reconcile, rows } from './inside.js';
import { type Answer, createPlant, fresh, newCustomer, ok, placeOrder, type Problem, send, staff, until } from './shop.js';

/** `done`, or the code of the problem. */
type Outcome = string;
type What = 'createPlant' | 'deletePlant' | 'deleteUser';

interface Done {
  readonly what: What;
  /** The plant's id or the user's name. */
  readonly key: string;
  readonly outcome: Outcome;
}

/** Each is killed once, and more often in `npm run nightly`. */
const victims = ['catalog', 'store', 'identity'];
const rounds = Array.from({ length: Number(process.env['INTENT_ROUNDS'] ?? 1) }, () => victims).flat();
const perRound = 40;
/** A try of what a killed process left begins when its lease ends. */
const settledWithinMs = 40_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const soon = () => pause(Math.random() * 700);

async function outcomeOf(answer: Promise<Answer<unknown>>): Promise<Outcome> {
  const { status, body } = await answer;
  if (status === 200) return 'done';
  const { code } = body as Problem;
  expect({ status, code }).toEqual({ status: statusOf[code], code });
  return code;
}
/** All that may be answered here: anything else is a defect. */
const statusOf: Record<string, number> = {
  unavailable: 503,
  'outcome-unknown': 503,
  'plant-not-found': 404,
  'user-not-found': 404,
  'plant-has-pending-orders': 409,
  'user-has-open-orders': 409,
};

describe('creating and deleting plants, and deleting users, while catalog, store and identity are killed', () => {
  const done: Done[] = [];
  /** Deleted twice at the same time: what one is answered depends on the other. */
  const twice = new Set<string>();
  let idSeed = 0;
  const newId = () => 2_000_000_000 + (Date.now() % 1_000_000_000) * 1_000 + ++idSeed;

  async function act(what: What, key: string, call: () => Promise<Answer<unknown>>): Promise<void> {
    await soon();
    done.push({ what, key, outcome: await outcomeOf(call()) });
  }
  const create = (id: number) =>
    act('createPlant', String(id), () => send('POST', '/v3/plant', { as: staff, json: { id, name: 'Monstera', photoUrls: [] } }));
  const deletePlant = (id: number) => act('deletePlant', String(id), () => send('DELETE', `/v3/plant/${id}`, { as: staff }));
  const deleteUser = (name: string) => act('deleteUser', name, () => send('DELETE', `/v3/user/${name}`, { as: staff }));

  /** @returns the answers, of which those that the killed process owed come when nobody waits for it any more */
  async function round(victim: string): Promise<{ readonly work: Promise<unknown> }> {
    const plants = await Promise.all(Array.from({ length: perRound }, () => createPlant()));
    const users = Array.from({ length: perRound }, () => ({ username: fresh('leaver'), password: 'some password' }));
    await ok(send('POST', '/v3/user/createWithList', { json: users }));
    // Some orders are open when their plant or owner is deleted, and closed soon after.
    const customers = await Promise.all(Array.from({ length: 4 }, () => newCustomer()));
    await Promise.all(customers.map((customer, n) => placeOrder({ plantId: plants.at(-1 - n)!.id }, customer)));
    const work = Promise.all([
      ...Array.from({ length: perRound }, () => create(newId())),
      ...plants.map(({ id }) => deletePlant(id)),
      ...users.map(({ username }) => deleteUser(username)),
      ...customers.map(({ username }) => deleteUser(username)),
      ...plants.slice(0, 5).map(({ id }) => {
        twice.add(String(id));
        return deletePlant(id);
      }),
      ...users.slice(0, 5).map(({ username }) => {
        twice.add(username);
        return deleteUser(username);
      }),
    ]);
    await pause(200 + Math.random() * 300);
    kill(victim);
    // A gateway whose question died with the only replica of identity has seen enough for a second, and asks again after another quarter
    // at the latest: only then does it show whether it is all there.
    await pause(1_400);
    await allReady();
    return { work };
  }

  beforeAll(async () => {
    await allReady();
    const answers: Promise<unknown>[] = [];
    for (const victim of rounds) {
      const { work } = await round(victim);
      // What fails is told when it is waited for, below, and must not end the process before.
      work.catch(() => undefined);
      answers.push(work);
    }
    await Promise.all(answers);
    const left = () => Promise.all([rows('catalog', 'SELECT 1 FROM stock_intents'), rows('identity', 'SELECT 1 FROM user_deletions')]);
    await until(async () => (await left()).every((intents) => intents.length === 0), settledWithinMs);
  }, 60_000 + rounds.length * 20_000);

  it('leaves no plant without stock and no stock without a plant, each under the same status', async () => {
    const plants = await rows('catalog', 'SELECT id, incarnation, status FROM plants ORDER BY id');
    const stock = await rows(
      'store',
      `SELECT plant_id AS id, incarnation, listing AS status FROM stock WHERE listing <> 'retired' ORDER BY plant_id`,
    );
    expect(stock).toEqual(plants);
  });

  it('leaves no user whose customer is closed, and no open customer without a user', async () => {
    const users = new Set((await rows<{ id: string }>('identity', 'SELECT user_id AS id FROM users')).map(({ id }) => id));
    const customers = await rows<{ id: string; closed: boolean }>('store', 'SELECT user_id AS id, closed FROM customers');
    expect(customers.filter(({ id, closed }) => users.has(id) === closed)).toEqual([]);
  });

  it('leaves nothing to reconcile', async () => {
    expect(await reconcile()).toEqual({ exitCode: 0, findings: [] });
  });

  it('was answered honestly', async () => {
    const plants = new Set((await rows<{ id: string }>('catalog', 'SELECT id FROM plants')).map(({ id }) => id));
    const users = new Set((await rows<{ name: string }>('identity', 'SELECT username AS name FROM users')).map(({ name }) => name));
    const isThere = ({ what, key }: Done) => (what === 'deleteUser' ? users : plants).has(key);
    const lies = done.filter((one) => {
      const { what, key, outcome } = one;
      if (outcome === 'outcome-unknown') return false;
      if (outcome === 'done') return isThere(one) !== (what === 'createPlant');
      // What was not done did not happen; of two that did the same, the other one may have done it.
      if (outcome === 'plant-not-found' || outcome === 'user-not-found') return isThere(one) || !twice.has(key);
      return twice.has(key) ? false : isThere(one) === (what === 'createPlant');
    });
    expect(lies).toEqual([]);
  });

  it('was in the way: every kind of work met a service that was away, and was done all the same', () => {
    for (const what of ['createPlant', 'deletePlant', 'deleteUser'] as const) {
      const outcomes = new Set(done.filter((one) => one.what === what).map(({ outcome }) => outcome));
      expect({ what, outcomes: [...outcomes] }).toEqual({ what, outcomes: expect.arrayContaining(['done']) });
      expect([...outcomes].some((outcome) => outcome === 'unavailable' || outcome === 'outcome-unknown')).toBe(true);
    }
  });
});
