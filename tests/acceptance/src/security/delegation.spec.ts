import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { rows } from '../internals.js';
import { type Answer, fresh, gatewayUrl, newCustomer, ok, problem, send, staff } from '../shop.js';
import { type Permission, permissions } from './access-table.js';

interface Key {
  readonly id: string;
  readonly key: string;
  readonly permissions: readonly Permission[];
}
interface Client {
  readonly clientId: string;
  readonly secret: string;
}

const customerMay: readonly Permission[] = ['read:plants', 'write:orders', 'webhooks'];
/** All permissions, or those of them that do not contain `but`. */
const all = (but?: Permission): Permission[] => permissions.filter((one) => one !== but && !(but === 'read:stock' && one === 'write:stock'));

const createKey = (as: object, username: string, json: object = {}, headers: Record<string, string> = {}) =>
  send<Key>('POST', `/v3/user/${username}/apiKeys`, { as, json: { name: 'k', ...json }, headers });
const rotateKey = (as: object, username: string, id: string, headers: Record<string, string> = {}) =>
  send<Key>('POST', `/v3/user/${username}/apiKeys/${id}/rotation`, { as, json: {}, headers });
const createClient = (as: object, scopes: readonly Permission[], headers: Record<string, string> = {}) =>
  send<Client>('POST', '/v3/oauth/clients', { as, json: { name: fresh('client'), grantTypes: ['client_credentials'], scopes, owner: 'admin' }, headers });
const rotateSecret = (as: object, clientId: string, headers: Record<string, string> = {}) =>
  send<Client>('POST', `/v3/oauth/clients/${clientId}/rotateSecret`, { as, headers });
const setRole = (as: object, username: string, role: string) => send<{ role: string }>('PUT', `/v3/user/${username}/role`, { as, json: { role } });
const setPassword = (as: object, username: string, password = 'a password of another') => send('PUT', `/v3/user/${username}`, { as, json: { password } });
/** A user of the role, whose password is known. */
const userWith = async (role: 'staff' | 'admin'): Promise<string> => {
  const { username } = await newCustomer();
  await ok(setRole(staff, username, role));
  return username;
};
const forbidden = (answer: Promise<Answer<unknown>>) => problem(answer, 403, 'forbidden');

describe('a credential passes on at most the permissions that it has:', () => {
  /** An admin: the demo's would exceed the limit of keys. */
  let boss: string;
  let as: { apiKey: string };
  beforeAll(async () => {
    boss = await userWith('admin');
  });

  describe.each(permissions.filter((one) => one !== 'write:users'))('without %s', (lacking) => {
    beforeAll(async () => {
      boss = await userWith('admin');
      as = { apiKey: (await ok(createKey(staff, boss, { permissions: all(lacking) }))).key };
    });

    it('it creates no API key, for no user, and no OAuth client that has it', async () => {
      const clerk = await userWith('staff');
      for (const username of [boss, clerk]) {
        await forbidden(createKey(as, username, { permissions: [lacking] }));
        const { permissions: got } = await ok(createKey(as, username));
        expect(got).toEqual(customerMay.filter((one) => one !== lacking));
        expect((await ok(createKey(as, username, { permissions: got }))).permissions).toEqual(got);
      }
      await forbidden(createClient(as, [lacking]));
      await forbidden(createClient(as, permissions));
      await ok(createClient(as, all(lacking)));
    });

    it('it receives no successor of a key and no secret of a client that has it, and both stay as they were', async () => {
      const broad = await ok(createKey(staff, boss, { permissions: [lacking] }));
      await forbidden(rotateKey(as, boss, broad.id));
      expect((await ok(rotateKey(staff, boss, broad.id))).permissions).toEqual([lacking]);
      const { clientId, secret } = await ok(createClient(staff, [lacking]));
      await forbidden(rotateSecret(as, clientId));
      const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
      expect((await fetch(`${gatewayUrl()}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })).status).toBe(200);
    });

    it('it receives no saved answer to an Idempotency-Key with such a key or secret', async () => {
      const broad = { apiKey: (await ok(createKey(staff, boss, { permissions }))).key };
      const key = await ok(createKey(broad, boss, { permissions: [lacking] }));
      const { clientId } = await ok(createClient(staff, [lacking]));
      const name = fresh('once');
      const requests = [
        (by: object, headers: Record<string, string>) => createKey(by, boss, { name, permissions: [lacking] }, headers),
        (by: object, headers: Record<string, string>) => rotateKey(by, boss, key.id, headers),
        (by: object, headers: Record<string, string>) => send('POST', '/v3/oauth/clients', { as: by, headers, json: { name, grantTypes: ['client_credentials'], scopes: [lacking], owner: 'admin' } }),
        (by: object, headers: Record<string, string>) => rotateSecret(by, clientId, headers),
      ];
      for (const request of requests) {
        const headers = { 'idempotency-key': randomUUID() };
        await ok<unknown>(request(broad, headers));
        await forbidden(request(as, headers));
        expect((await request(broad, headers)).headers.get('idempotency-replayed')).toBe('true');
      }
    });

    it('it raises no role to one that has it, and sets no password of a user who has it', async () => {
      const isOfCustomers = customerMay.includes(lacking);
      const { username } = await newCustomer();
      for (const role of ['staff', 'admin']) {
        // Every user has a customer's permissions, so no role gains them.
        if (isOfCustomers) await ok(setRole(as, username, role));
        else await forbidden(setRole(as, username, role));
        await ok(setRole(staff, username, 'customer'));
      }
      for (const role of ['staff', 'admin'] as const) await forbidden(setPassword(as, await userWith(role)));
      if (isOfCustomers) await forbidden(setPassword(as, username));
      else await ok(setPassword(as, username));
    });
  });

  it('with all of them it does all that, and lowering a role needs none', async () => {
    const own = { apiKey: (await ok(createKey(staff, boss, { permissions: all() }))).key };
    const clerk = await userWith('staff');
    await ok(setRole(own, clerk, 'admin'));
    await ok(setPassword(own, clerk));
    const key = await ok(createKey(own, clerk, { permissions }));
    await ok(rotateKey(own, clerk, key.id));
    await ok(rotateSecret(own, (await ok(createClient(own, permissions))).clientId));
    const narrow = { apiKey: (await ok(createKey(staff, boss, { permissions: ['write:users'] }))).key };
    await ok(setRole(narrow, clerk, 'customer'));
    await forbidden(setRole(narrow, clerk, 'staff'));
  });

  it("a key without `permissions` has a customer's, or those of a narrow creator; one with a misspelt member is refused", async () => {
    expect((await ok(createKey(staff, boss))).permissions).toEqual(customerMay);
    expect(await createKey(staff, boss, { scopes: ['write:plants'] })).toMatchObject({ status: 400, body: { code: 'invalid-input', errors: [{ pointer: '/scopes' }] } });
    const narrow = { apiKey: (await ok(createKey(staff, boss, { permissions: ['write:users', 'webhooks'] }))).key };
    expect((await ok(createKey(narrow, boss))).permissions).toEqual(['webhooks']);
  });

  it("a credential that may not read orders creates no key for another user, since any key reads its user's orders", async () => {
    const { username } = await newCustomer();
    const narrow = { apiKey: (await ok(createKey(staff, boss, { permissions: ['write:users', 'read:plants'] }))).key };
    await forbidden(createKey(narrow, username, { permissions: ['read:plants'] }));
    const { id } = await ok(createKey(staff, username, { permissions: ['read:plants'] }));
    await forbidden(rotateKey(narrow, username, id));
    expect((await ok(createKey(narrow, boss, { permissions: ['read:plants'] }))).permissions).toEqual(['read:plants']);
  });

  it('users with their own session may do for themselves what their role may, also after it was lowered', async () => {
    const { username, bearer } = await newCustomer();
    await rows('identity', `UPDATE users SET role = 'staff' WHERE username = $1`, [username]);
    const { id } = await ok(createKey(staff, username, { permissions: ['write:plants', 'webhooks'] }));
    await ok(setRole(staff, username, 'customer'));
    expect((await ok(rotateKey({ bearer }, username, id))).permissions).toEqual(['webhooks']);
    await forbidden(createKey({ bearer }, username, { permissions: ['write:plants'] }));
    await ok(setPassword({ bearer }, username));
  });
});
