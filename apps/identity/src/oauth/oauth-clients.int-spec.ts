import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import type { CreatedOAuthClient, NewOAuthClient } from '@plant-shop/contracts/identity.oauth';
import { sampleOf, shapeOf } from '@plant-shop/testing/samples';
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

  it('are shown with their secret once, and then without', async () => {
    const { request, answer } = sampleOf(identity.createOAuthClient);
    const made = await shop.call(identity.createOAuthClient, request, manager);
    expect(shapeOf(made)).toEqual(shapeOf(answer));
    expect(made.secret).toMatch(/^pscs_[\w-]{43}$/);
    const { secret, ...shown } = made;
    const { clientId } = made;
    await expect(shop.call(identity.getOAuthClient, { clientId }, manager)).resolves.toEqual(shown);
    await expect(shop.call(identity.listOAuthClients, {}, manager)).resolves.toContainEqual(shown);
    const { rows } = await shop.sql.query<{ row: string }>('SELECT c::text AS row FROM oauth_clients c');
    expect(rows.map(({ row }) => row).join()).not.toContain(secret);
  });

  it('that act alone get tokens for their owner', async () => {
    const made = await create(program());
    expect(made).toMatchObject({ owner: owner.username, public: false, redirectUris: [] });
    expect(await tokenOf(made)).toBeDefined();
  });

  it('that are public have no secret, and none to replace', async () => {
    const made = await create({
      name: 'Browser app',
      grantTypes: ['authorization_code'],
      redirectUris: ['https://app.example/'],
      scopes: ['write:orders'],
      public: true,
    });
    expect(made).toMatchObject({ public: true });
    expect(made).not.toHaveProperty('secret');
    const rotation = shop.call(identity.rotateOAuthClientSecret, { clientId: made.clientId }, manager);
    await expect(rotation).rejects.toMatchObject({ code: 'oauth-client-public' });
  });

  it('need write:users, whatever is done with them', async () => {
    const { inPerson } = await shop.enter();
    const { clientId } = await create(program());
    for (const call of [
      shop.call(identity.createOAuthClient, { client: program() }, inPerson),
      shop.call(identity.listOAuthClients, {}, inPerson),
      shop.call(identity.getOAuthClient, { clientId }, inPerson),
      shop.call(identity.deleteOAuthClient, { clientId }, inPerson),
      shop.call(identity.rotateOAuthClientSecret, { clientId }, inPerson),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'forbidden' });
    }
  });

  it('are refused with an owner who does not exist', async () => {
    await expect(create({ ...program(), owner: 'nobody-at-all' })).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/client/owner' }] },
    });
  });

  it('are made once for an Idempotency-Key', async () => {
    const payload = { client: program() };
    const first = await shop.callOnce(identity.createOAuthClient, payload, 'client-key-1', manager);
    const again = await shop.callOnce(identity.createOAuthClient, payload, 'client-key-1', manager);
    expect(again).toEqual({ ...first, replayed: true });
  });

  it('get another secret, which ends the old one and the tokens that it got', async () => {
    const made = await create(program());
    const before = await tokenOf(made);
    const position = await head();
    const rotated = await shop.call(identity.rotateOAuthClientSecret, { clientId: made.clientId }, manager);
    expect(rotated.secret).not.toBe(made.secret);
    expect(await revocationsSince(position)).toEqual([`clientSecret:${claimOf(before, 'secret_id') as string}`]);
    expect(await tokenOf(made)).toBeUndefined();
    const after = await tokenOf(rotated);
    expect(claimOf(after, 'secret_id')).not.toBe(claimOf(before, 'secret_id'));
  });

  it('end, and the log tells', async () => {
    const made = await create(program());
    const position = await head();
    await shop.call(identity.deleteOAuthClient, { clientId: made.clientId }, manager);
    expect(await revocationsSince(position)).toEqual([`client:${made.clientId}`]);
    expect(await tokenOf(made)).toBeUndefined();
    const again = shop.call(identity.deleteOAuthClient, { clientId: made.clientId }, manager);
    await expect(again).rejects.toMatchObject({ code: 'oauth-client-not-found' });
  });
});
