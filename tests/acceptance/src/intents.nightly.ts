import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { allReady, kill, reconcile, rows } from './internals.js';
import { type Answer, createPlant, fresh, newCustomer, ok, placeOrder, type Problem, send, staff, until } from './shop.js';

/** `done`, or a problem code. */
type Outcome = string;
type Action = 'createPlant' | 'deletePlant' | 'deleteUser';

interface Result {
  readonly what: Action;
  /** The plant's id or the user's name. */
  readonly key: string;
  readonly outcome: Outcome;
}

// Not in every build: the tests *.crash.int-spec.ts of catalog and identity crash the same work at every point.

/** Each service is killed once per round. */
const victims = ['catalog', 'store', 'identity'];
const rounds = Array.from({ length: 8 }, () => victims).flat();
const perRound = 40;
/** Work of a killed process is retried when its lease expires. */
const settledWithinMs = 40_000;

const soon = () => pause(Math.random() * 700);

async function outcomeOf(answer: Promise<Answer<unknown>>): Promise<Outcome> {
  const { status, body } = await answer;
  if (status === 200) return 'done';
  const { code } = body as Problem;
  expect({ status, code }).toEqual({ status: statusOf[code], code });
  return code;
}
/** The only problems that may occur here. */
const statusOf: Record<string, number> = {
  unavailable: 503,
  'outcome-unknown': 503,
  'plant-not-found': 404,
  'user-not-found': 404,
  'plant-has-pending-orders': 409,
  'user-has-open-orders': 409,
};

describe('creating and deleting plants, and deleting users, while catalog, store and identity are killed', () => {
  const results: Result[] = [];
  /** Keys that are deleted twice concurrently; each answer depends on the other request. */
  const twice = new Set<string>();
  let idSeed = 0;
  const newId = () => 2_000_000_000 + (Date.now() % 1_000_000_000) * 1_000 + ++idSeed;

  async function act(what: Action, key: string, call: () => Promise<Answer<unknown>>): Promise<void> {
    await soon();
    results.push({ what, key, outcome: await outcomeOf(call()) });
  }
  const create = (id: number) =>
    act('createPlant', String(id), () => send('POST', '/v3/plant', { as: staff, json: { id, name: 'Monstera', photoUrls: [] } }));
  const deletePlant = (id: number) => act('deletePlant', String(id), () => send('DELETE', `/v3/plant/${id}`, { as: staff }));
  const deleteUser = (name: string) => act('deleteUser', name, () => send('DELETE', `/v3/user/${name}`, { as: staff }));

  /** @returns a promise of all answers; those that the killed process owed come only when the gateway's deadline has passed */
  async function round(victim: string): Promise<{ readonly work: Promise<unknown> }> {
    const plants = await Promise.all(Array.from({ length: perRound }, () => createPlant()));
    const users = Array.from({ length: perRound }, () => ({ username: fresh('leaver'), password: 'some password' }));
    await ok(send('POST', '/v3/user/createWithList', { json: users }));
    // Some orders are open when their plant or owner is deleted, and complete soon after.
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
    // If the gateway's request for revocations was lost with the only replica of identity, its state counts as current for another second,
    // and the next request follows at most a quarter of a second later. Only then is its readiness meaningful.
    await pause(1_400);
    await allReady();
    return { work };
  }

  beforeAll(async () => {
    await allReady();
    const answers: Promise<unknown>[] = [];
    for (const victim of rounds) {
      const { work } = await round(victim);
      // A rejection is reported by Promise.all below; until then it must not end the process.
      work.catch(() => undefined);
      answers.push(work);
    }
    await Promise.all(answers);
    const left = () => Promise.all([rows('catalog', 'SELECT 1 FROM stock_intents'), rows('identity', 'SELECT 1 FROM user_deletions')]);
    await until(async () => (await left()).every((intents) => intents.length === 0), settledWithinMs);
  }, 60_000 + rounds.length * 20_000);

  it('leaves a stock row for each plant, with the same status, and no other', async () => {
    const plants = await rows('catalog', 'SELECT id, incarnation, status FROM plants ORDER BY id');
    const stock = await rows(
      'store',
      `SELECT plant_id AS id, incarnation, listing AS status FROM stock WHERE listing <> 'retired' ORDER BY plant_id`,
    );
    expect(stock).toEqual(plants);
  });

  it('leaves no closed customer of an existing user, and no open customer without a user', async () => {
    const users = new Set((await rows<{ id: string }>('identity', 'SELECT user_id AS id FROM users')).map(({ id }) => id));
    const customers = await rows<{ id: string; closed: boolean }>('store', 'SELECT user_id AS id, closed FROM customers');
    expect(customers.filter(({ id, closed }) => users.has(id) === closed)).toEqual([]);
  });

  it('leaves nothing to reconcile', async () => {
    expect(await reconcile()).toEqual({ exitCode: 0, findings: [] });
  });

  it('matches the answers that clients got', async () => {
    const plants = new Set((await rows<{ id: string }>('catalog', 'SELECT id FROM plants')).map(({ id }) => id));
    const users = new Set((await rows<{ name: string }>('identity', 'SELECT username AS name FROM users')).map(({ name }) => name));
    const exists = ({ what, key }: Result) => (what === 'deleteUser' ? users : plants).has(key);
    const wrong = results.filter((one) => {
      const { what, key, outcome } = one;
      if (outcome === 'outcome-unknown') return false;
      if (outcome === 'done') return exists(one) !== (what === 'createPlant');
      // A refused request had no effect; if another one requested the same, that one may have done it.
      if (outcome === 'plant-not-found' || outcome === 'user-not-found') return exists(one) || !twice.has(key);
      return twice.has(key) ? false : exists(one) === (what === 'createPlant');
    });
    expect(wrong).toEqual([]);
  });

  it('was tested: each kind of request failed at least once because of a killed service, and succeeded otherwise', () => {
    for (const what of ['createPlant', 'deletePlant', 'deleteUser'] as const) {
      const outcomes = new Set(results.filter((one) => one.what === what).map(({ outcome }) => outcome));
      expect({ what, outcomes: [...outcomes] }).toEqual({ what, outcomes: expect.arrayContaining(['done']) });
      expect([...outcomes].some((outcome) => outcome === 'unavailable' || outcome === 'outcome-unknown')).toBe(true);
    }
  });
});
