import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import type { CreatedOAuthClient, NewOAuthClient } from '@plant-shop/contracts/identity.oauth';
import { sampleOf, shapeOf } from '@plant-shop/service-testing/samples';
import { manager, type Registered, TestIdentity } from '../identity.spec.fixture.js';

describe('OAuth clients', () => {
  let shop: TestIdentity;
  let owner: Registered;
  beforeAll(async () => {
    shop = await TestIdentity.start();
    owner = await shop.register();
  });
  afterAll(() => shop.stop());

  type Client = Pick<NewOAuthClient, keyof NewOAuthClient>;
  const program = (): Client => ({
    name: 'Warehouse',
    grantTypes: ['client_credentials'],
    scopes: ['write:orders'],
    owner: owner.username,
  });
  const create = (client: Client): Promise<CreatedOAuthClient> =>
    shop.call(identity.createOAuthClient, { client }, manager);

  async function tokenOf({ clientId, secret = '' }: CreatedOAuthClient): Promise<string | undefined> {
    const response = await fetch(`http://127.0.0.1:${shop.httpPort}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    return ((await response.json()) as { access_token?: string }).access_token;
  }
  const revocationsSince = async (after: number): Promise<string[]> =>
    (await shop.call(identity.readRevocations, { after })).entries.map(({ kind, id }) => `${kind}:${id}`);
  const head = async (): Promise<number> => (await shop.call(identity.readRevocations, { after: 0 })).head;
  const claimOf = (token: string | undefined, name: string): unknown =>
    (JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>)[name];

  it('show their secret once', async () => {
    const { request, answer } = sampleOf(identity.createOAuthClient);
    const created = await shop.call(identity.createOAuthClient, request, manager);
    expect(shapeOf(created)).toEqual(shapeOf(answer));
    expect(created.secret).toMatch(/^pscs_[\w-]{43}$/);
    const { secret, ...withoutSecret } = created;
    const { clientId } = created;
    await expect(shop.call(identity.getOAuthClient, { clientId }, manager)).resolves.toEqual(withoutSecret);
    await expect(shop.call(identity.listOAuthClients, {}, manager)).resolves.toContainEqual(withoutSecret);
    const { rows } = await shop.sql.query<{ row: string }>('SELECT c::text AS row FROM oauth_clients c');
    expect(rows.map(({ row }) => row).join()).not.toContain(secret);
  });

  it('have their names told to the store, unless they are deleted', async () => {
    const { clientId } = await create(program());
    expect(await shop.call(identity.resolveOAuthClients, { clientIds: [clientId, 'unknown'] })).toEqual([{ clientId, name: 'Warehouse' }]);
    await shop.call(identity.deleteOAuthClient, { clientId }, manager);
    expect(await shop.call(identity.resolveOAuthClients, { clientIds: [clientId] })).toEqual([]);
  });

  it('with client credentials get tokens for their owner', async () => {
    const created = await create(program());
    expect(created).toMatchObject({ owner: owner.username, public: false, redirectUris: [] });
    expect(await tokenOf(created)).toBeDefined();
  });

  it('that are public have no secret to rotate', async () => {
    const created = await create({
      name: 'Browser app',
      grantTypes: ['authorization_code'],
      redirectUris: ['https://app.example/'],
      scopes: ['write:orders'],
      public: true,
    });
    expect(created).toMatchObject({ public: true });
    expect(created).not.toHaveProperty('secret');
    const rotation = shop.call(identity.rotateOAuthClientSecret, { clientId: created.clientId }, manager);
    await expect(rotation).rejects.toMatchObject({ code: 'oauth-client-public' });
  });

  it('need write:users for every operation', async () => {
    const { principal } = await shop.registerAndLogin();
    const { clientId } = await create(program());
    for (const call of [
      shop.call(identity.createOAuthClient, { client: program() }, principal),
      shop.call(identity.listOAuthClients, {}, principal),
      shop.call(identity.getOAuthClient, { clientId }, principal),
      shop.call(identity.deleteOAuthClient, { clientId }, principal),
      shop.call(identity.rotateOAuthClientSecret, { clientId }, principal),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'forbidden' });
    }
  });

  it('are refused with an unknown owner', async () => {
    await expect(create({ ...program(), owner: 'unknown-user' })).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/client/owner' }] },
    });
  });

  it('are created once per Idempotency-Key', async () => {
    const payload = { client: program() };
    const first = await shop.callOnce(identity.createOAuthClient, payload, 'client-key-1', manager);
    const again = await shop.callOnce(identity.createOAuthClient, payload, 'client-key-1', manager);
    expect(again).toEqual({ ...first, replayed: true });
  });

  it('get a new secret, which ends the old one and its tokens', async () => {
    const created = await create(program());
    const before = await tokenOf(created);
    const position = await head();
    const rotated = await shop.call(identity.rotateOAuthClientSecret, { clientId: created.clientId }, manager);
    expect(rotated.secret).not.toBe(created.secret);
    expect(await revocationsSince(position)).toEqual([`clientSecret:${claimOf(before, 'secret_id') as string}`]);
    expect(await tokenOf(created)).toBeUndefined();
    const after = await tokenOf(rotated);
    expect(claimOf(after, 'secret_id')).not.toBe(claimOf(before, 'secret_id'));
  });

  it('are listed in pages, newest first, however large they are and whatever the clock was (slow)', async () => {
    const made: string[] = [];
    for (let n = 0; n < 60; n++) {
      // Nearly 20 KB: not even these would fit one RPC message.
      const redirectUris = Array.from({ length: 10 }, (_, path) => `https://app.example/${path}/${n}/${'x'.repeat(1_900)}`);
      made.unshift((await create({ name: 'App', grantTypes: ['authorization_code'], redirectUris, scopes: ['write:orders'] })).clientId);
    }
    await shop.sql.query(`UPDATE oauth_clients SET created_at = created_at + interval '10 minutes' WHERE client_id = ANY($1)`, [made.slice(30)]);
    const pages = await shop.caller.pages(identity.listOAuthClients, {}, manager);
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.flat().slice(0, 60).map(({ clientId }) => clientId)).toEqual(made);
    await expect(shop.call(identity.listOAuthClients, { cursor: 'x' }, manager)).rejects.toMatchObject({ code: 'invalid-cursor' });
  });

  it('are at most 1,000, also if several are created at once at two replicas', async () => {
    await shop.addReplica();
    await shop.sql.query(
      `INSERT INTO oauth_clients (client_id, name, scopes, redirect_uris, grant_types)
       SELECT 'filler ' || n, 'Filler', '{write:orders}', '{https://app.example/}', '{authorization_code}'
       FROM generate_series(1, 999 - (SELECT count(*) FROM oauth_clients)) n`,
    );
    const created = await Promise.allSettled(Array.from({ length: 8 }, () => create(program())));
    const outcomes = created.map((one) => (one.status === 'fulfilled' ? 'created' : (one.reason as { code: string }).code));
    expect(outcomes.sort()).toEqual(['created', ...Array(7).fill('too-many-oauth-clients')]);
    await shop.sql.query(`DELETE FROM oauth_clients WHERE name = 'Filler'`);
  });

  it('can be deleted, which is logged', async () => {
    const created = await create(program());
    const position = await head();
    await shop.call(identity.deleteOAuthClient, { clientId: created.clientId }, manager);
    expect(await revocationsSince(position)).toEqual([`client:${created.clientId}`]);
    expect(await tokenOf(created)).toBeUndefined();
    const again = shop.call(identity.deleteOAuthClient, { clientId: created.clientId }, manager);
    await expect(again).rejects.toMatchObject({ code: 'oauth-client-not-found' });
  });
});
