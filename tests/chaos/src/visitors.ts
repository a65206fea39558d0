import type { Arena } from './arena.js';
import type { Client, Credential } from './client.js';
import { now, pause } from './clock.js';
import { isDone } from './history.js';
import type { Random } from './random.js';
import { ResumingSocket } from './socket.js';
import { instancesOf } from './stack.js';
import { keyed, markOf, stubbornly } from './stubborn.js';

/** A revoked credential is shown again for this long, and so often. */
const watchMs = 2_500;
const everyMs = 250;
/** How long it is known everywhere before it is revoked, at most. */
const longestHeldMs = 2_000;

/** A credential, by the name that it has in the record. */
interface Shown {
  readonly name: string;
  readonly credential: Credential;
}

/**
 * Somebody makes API keys and endpoints, uses them everywhere, and then loses a credential; from then on it is shown to each replica
 * again and again, and its socket is told of nothing any more.
 */
export async function visit(arena: Arena, random: Random, plantId: number): Promise<void> {
  if (random.chance(0.25)) return tokenEnds(arena, random);
  const visitor = await arena.newcomer(`visitor${random.between(0, 2 ** 31)}`);
  if (!visitor) return;
  const { username, token, client } = visitor;
  const session: Shown = { name: `session of ${username}`, credential: { bearer: token } };
  const made = await makeKeys(client, username, random);
  await makeEndpoint(arena, client, random);
  if (!made) return;
  const key: Shown = { name: `API key of ${username}`, credential: { apiKey: made.key } };
  const how = random.pick(['api key', 'session', 'user'] as const);
  if (how === 'user') {
    // Without open orders: else the account stays.
    arena.leavers.add(client.name);
    return loses(arena, random, [key, session], () => arena.staff.removeUser(username, [key.name, session.name]));
  }
  if (how === 'session') return loses(arena, random, [session], () => client.logOut(session.name));
  await losesKey(arena, random, { username, client, keyId: made.id, key, plantId });
}

/** Two keys, the second in place of the first, each once. @returns the first, which goes on for a while */
async function makeKeys(client: Client, username: string, random: Random): Promise<{ id: string; key: string } | undefined> {
  const mark = markOf(random);
  const path = `/v3/user/${username}/apiKeys`;
  const made = await keyed(random, (key) => client.make<{ id: string; key: string }>('API key', mark, key, path, { name: mark }));
  if (!made?.body || !isDone(made.call)) return undefined;
  const { id } = made.body;
  await keyed(random, (key) => client.make('API key rotation', mark, key, `${path}/${id}/rotation`, {}));
  return made.body;
}

async function makeEndpoint(arena: Arena, client: Client, random: Random): Promise<void> {
  const mark = markOf(random);
  const endpoint = { url: arena.ground.sinkUrl, eventTypes: ['order.status_changed'], description: mark };
  const made = await keyed(random, (key) => client.make<{ id: string }>('webhook', mark, key, '/v3/webhooks', endpoint));
  if (!made?.body || !isDone(made.call)) return;
  const path = `/v3/webhooks/${made.body.id}`;
  await keyed(random, (key) => client.make('webhook secret', mark, key, `${path}/rotateSecret`, {}));
  await keyed(random, (key) => client.make('webhook test', mark, key, `${path}/test`, undefined));
}

interface KeyOwner {
  readonly username: string;
  readonly client: Client;
  readonly keyId: string;
  readonly key: Shown;
  readonly plantId: number;
}

/** Its socket stays open, and an order of its owner moves later on. */
async function losesKey(arena: Arena, random: Random, { username, client, keyId, key, plantId }: KeyOwner): Promise<void> {
  const { call } = await client.place({ plantId, quantity: 1 });
  const orderId = isDone(call) ? call.answer.order?.id : undefined;
  const socket = ResumingSocket.from(key.name, arena.ground.streamUrls, random.between(0, 1), key.credential.apiKey ?? '');
  arena.guests.push(socket);
  await pause(100);
  try {
    await loses(arena, random, [key], () => client.revokeApiKey(username, keyId, key.name));
    if (orderId !== undefined) await arena.staff.pay(orderId, `visitor-${orderId}`);
    await pause(300);
  } finally {
    socket.stop();
  }
}

/** An access token of a client that staff make. */
async function tokenEnds(arena: Arena, random: Random): Promise<void> {
  const mark = markOf(random);
  const wanted = { name: mark, grantTypes: ['client_credentials'], scopes: ['read:orders', 'write:orders'], owner: 'admin' };
  const made = await keyed(random, (key) => arena.staff.make<{ clientId: string; secret: string }>('OAuth client', mark, key, '/v3/oauth/clients', wanted));
  if (!made?.body || !isDone(made.call)) return;
  const oauthClient = made.body;
  const anybody = arena.client(`program ${mark}`, {});
  const got = await stubbornly(random, () => anybody.getToken(oauthClient));
  if (!got?.body || !isDone(got.call)) return;
  const token = got.body.access_token;
  const shown = { name: `token of ${mark}`, credential: { bearer: token } };
  await loses(arena, random, [shown], () => anybody.revokeToken(token, oauthClient, shown.name));
}

/** Each is used everywhere, so that it is known there, then revoked, and used everywhere again. */
async function loses(arena: Arena, random: Random, all: readonly Shown[], revoke: () => ReturnType<Client['logOut']>): Promise<void> {
  const places = all.flatMap((one) => placesOf(arena, one));
  await Promise.all(places.map((use) => use()));
  // So that faults come between, too.
  await pause(random.between(0, longestHeldMs));
  const outcome = await stubbornly(random, revoke);
  if (!outcome || !isDone(outcome.call)) return;
  const uses: Promise<unknown>[] = [];
  const end = now() + watchMs;
  while (now() < end) {
    uses.push(...places.map((use) => use()));
    await pause(everyMs);
  }
  await Promise.all(uses);
}

/** Each replica that takes credentials, past the balancer. */
function placesOf(arena: Arena, { name, credential }: Shown): (() => Promise<unknown>)[] {
  const { stack } = arena.ground;
  const at = (service: 'gateway' | 'notifications', path: string): (() => Promise<unknown>)[] =>
    instancesOf(stack, service).map(({ label, port }) => {
      const client = arena.client(`holder of ${name}`, credential, `http://127.0.0.1:${port ?? 0}`);
      return () => client.use(name, label, path);
    });
  return [...at('gateway', '/v3/store/order?limit=1'), ...at('notifications', '/v1/orders/updates?cursor=latest')];
}
