import type { Credentials } from '@plant-shop/testing/http';
import type { Trial } from './trial.js';
import type { Client } from './client.js';
import { now, pause } from './clock.js';
import { FollowingSocket } from './following-socket.js';
import { isDone } from './history.js';
import type { Random } from './random.js';
import { instancesOf } from './stack.js';
import { asAsked, withNewKey, newMark, withRetries } from './retries.js';

/** For how long, and how often, a revoked credential is presented again. */
const recheckForMs = 2_500;
const recheckEveryMs = 250;
/** The longest time between a credential's first use and its revocation. */
const maxHeldMs = 2_000;

/** A credential and its name in the history. */
interface NamedCredential {
  readonly name: string;
  readonly credential: Credentials;
}

/**
 * Registers a user who creates API keys and webhooks, uses a credential at every replica, and revokes it. From then on every
 * replica must refuse it, and its socket must get no events. In one case of four, an access token is revoked instead.
 */
export async function revokeOneCredential(trial: Trial, random: Random, plantId: number): Promise<void> {
  if (random.chance(0.25)) return revokeAccessToken(trial, random);
  const holder = await trial.register(`holder${random.between(0, 2 ** 31)}`);
  if (!holder) return;
  const { username, token, client } = holder;
  const session: NamedCredential = { name: `session of ${username}`, credential: { bearer: token } };
  const created = await createKeys(client, username, random);
  await createEndpoint(trial, client, random);
  if (!created) return;
  const key: NamedCredential = { name: `API key of ${username}`, credential: { apiKey: created.key } };
  const how = random.pick(['api key', 'session', 'user'] as const);
  if (how === 'user') {
    // The user has no open orders, which would prevent the deletion.
    trial.deletedUsers.add(client.name);
    return useAndRevoke(trial, random, [key, session], () => trial.staff.deleteUser(username, [key.name, session.name]));
  }
  if (how === 'session') return useAndRevoke(trial, random, [session], () => client.logOut(session.name));
  await revokeKeyOfSocket(trial, random, { username, client, keyId: created.id, key, plantId });
}

/** Creates an API key and rotates it. @returns the first key, which stays valid for a while */
async function createKeys(client: Client, username: string, random: Random): Promise<{ id: string; key: string } | undefined> {
  const mark = newMark(random);
  const path = `/v3/user/${username}/apiKeys`;
  const created = await withNewKey(random, (key) => client.create<{ id: string; key: string }>('API key', mark, key, path, { name: mark }));
  if (!created?.body || !isDone(created.call)) return undefined;
  const { id } = created.body;
  await withNewKey(random, (key) => client.create('API key rotation', mark, key, `${path}/${id}/rotation`, {}));
  return created.body;
}

async function createEndpoint(trial: Trial, client: Client, random: Random): Promise<void> {
  const mark = newMark(random);
  const endpoint = { url: trial.testbed.sinkUrl, eventTypes: ['order.status_changed'], description: mark };
  const created = await withNewKey(random, (key) => client.create<{ id: string }>('webhook', mark, key, '/v3/webhooks', endpoint));
  if (!created?.body || !isDone(created.call)) return;
  const path = `/v3/webhooks/${created.body.id}`;
  await withNewKey(random, (key) => client.create('webhook secret', mark, key, `${path}/rotateSecret`, {}));
  await withNewKey(random, (key) => client.create('webhook test', mark, key, `${path}/test`, undefined));
}

interface KeyOwner {
  readonly username: string;
  readonly client: Client;
  readonly keyId: string;
  readonly key: NamedCredential;
  readonly plantId: number;
}

/** Keeps a socket of the key open, revokes the key, and then pays an order of its owner. */
async function revokeKeyOfSocket(trial: Trial, random: Random, { username, client, keyId, key, plantId }: KeyOwner): Promise<void> {
  const { call } = await client.place({ plantId, quantity: 1 });
  const orderId = isDone(call) ? call.answer.order?.id : undefined;
  const socket = new FollowingSocket(key.name, trial.testbed.streamUrls, random.between(0, 1), { apiKey: key.credential.apiKey ?? '' });
  trial.revokedSockets.push(socket);
  await pause(100);
  try {
    await useAndRevoke(trial, random, [key], () => client.revokeApiKey(username, keyId, key.name));
    if (orderId !== undefined) await trial.staff.pay(orderId, `holder-${orderId}`);
    await pause(300);
  } finally {
    socket.stop();
  }
}

/** Revokes an access token of an OAuth client that staff create. */
async function revokeAccessToken(trial: Trial, random: Random): Promise<void> {
  const mark = newMark(random);
  const wanted = { name: mark, grantTypes: ['client_credentials'], scopes: ['read:orders', 'write:orders'], owner: 'admin' };
  const created = await withNewKey(random, (key) => trial.staff.create<{ clientId: string; secret: string }>('OAuth client', mark, key, '/v3/oauth/clients', wanted));
  if (!created?.body || !isDone(created.call)) return;
  const oauthClient = created.body;
  const anonymous = trial.client(`program ${mark}`, {});
  const got = await withRetries(random, () => anonymous.getToken(oauthClient));
  if (!got?.body || !isDone(got.call)) return;
  const token = got.body.access_token;
  const named = { name: `token of ${mark}`, credential: { bearer: token } };
  await useAndRevoke(trial, random, [named], () => anonymous.revokeToken(token, oauthClient, named.name));
}

/** Uses the credentials at every replica, so that each has them in its cache; revokes them; and uses them everywhere again. */
async function useAndRevoke(trial: Trial, random: Random, all: readonly NamedCredential[], revoke: () => ReturnType<Client['logOut']>): Promise<void> {
  const uses = all.flatMap((one) => usesOf(trial, one));
  await Promise.all(uses.map((use) => use()));
  // Leaves time for a fault between use and revocation.
  await pause(random.between(0, maxHeldMs));
  // Few clients revoke, so impatient retries of one would outnumber all other revocations that `checkWork` judges.
  const outcome = await withRetries(random, revoke, asAsked);
  if (!outcome || !isDone(outcome.call)) return;
  const checking: Promise<unknown>[] = [];
  const end = now() + recheckForMs;
  while (now() < end) {
    checking.push(...uses.map((use) => use()));
    await pause(recheckEveryMs);
  }
  await Promise.all(checking);
}

/** Requests with the credential, one to each replica that authenticates, past the balancer. */
function usesOf(trial: Trial, { name, credential }: NamedCredential): (() => Promise<unknown>)[] {
  const { stack } = trial.testbed;
  const at = (service: 'gateway' | 'notifications', path: string): (() => Promise<unknown>)[] =>
    instancesOf(stack, service).map(({ label, port }) => {
      const client = trial.client(`holder of ${name}`, credential, `http://127.0.0.1:${port ?? 0}`);
      return () => client.use(name, label, path);
    });
  return [...at('gateway', '/v3/store/order?limit=1'), ...at('notifications', '/v1/orders/updates?cursor=latest')];
}
