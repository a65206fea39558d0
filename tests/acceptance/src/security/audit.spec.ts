import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { rows } from '../internals.js';
import { createPlant, fresh, login, newCustomer, ok, placeOrder, problem, send, staff, until } from '../shop.js';
import { accessTable, type AccessRow, type Permission } from './access-table.js';

/** Permissions of every registered user; staff have the others. */
const customerPermissions: readonly string[] = ['read:plants', 'write:orders', 'webhooks', 'any key'];
const needsStaff = ({ needs }: AccessRow): boolean =>
  needs === 'self' || (Array.isArray(needs) && (needs as readonly (Permission | 'any key')[]).some((one) => !customerPermissions.includes(one)));

interface Entry {
  readonly id: number;
  readonly at: string;
  readonly operation: string;
  readonly requestId: string;
  readonly subject?: string;
  readonly username?: string;
  readonly credentials: readonly string[];
  readonly target: string;
  readonly targetUsername?: string;
}

const audit = (query: Record<string, string> = {}) =>
  send<Entry[]>('GET', `/v3/audit?${new URLSearchParams(query).toString()}`, { as: staff });

describe('the audit log', () => {
  // A preview is posted because of its lines. It changes nothing.
  const mutating = accessTable.filter((line) => needsStaff(line) && line.method !== 'GET' && line.operation !== 'previewImport');

  it('is tested with every mutating operation of staff', () => {
    expect(accessTable.filter(({ change }) => change)).toEqual(mutating);
  });

  let adminToken: string;
  /** A customer's key, which permits nothing beside the admin's session. */
  let other: { username: string; id: string; key: string };
  beforeAll(async () => {
    adminToken = await login('admin', 'admin-password');
    const customer = await newCustomer();
    other = { username: customer.username, ...(await ok(send<{ id: string; key: string }>('POST', `/v3/user/${customer.username}/apiKeys`, { as: { bearer: customer.bearer }, json: { name: 'k' } }))) };
  });

  it.each(mutating)('records user, time, request and credentials of others of $operation', async ({ operation, change }) => {
    const requestId = randomUUID();
    const begun = Date.now();
    await change?.(async (method, path, body) => {
      const isJson = body !== undefined && !(body instanceof FormData) && !(body instanceof URLSearchParams) && !(body instanceof Blob);
      return ok(send(method, path, {
        as: { bearer: adminToken, apiKey: other.key },
        headers: { 'x-request-id': requestId, ...(body instanceof URLSearchParams && { 'content-type': 'application/x-www-form-urlencoded' }) },
        ...(isJson && { json: body }),
        ...(body !== undefined && !isJson && { body: body instanceof URLSearchParams ? body.toString() : body }),
      }));
    });
    const written = (await ok(audit({ limit: '50' }))).filter((entry) => entry.requestId === requestId);
    expect(written).toMatchObject([{
      username: 'admin',
      credentials: [{ kind: 'session', id: expect.stringMatching(/^[0-9a-f-]{36}$/) }],
      otherCredentials: [{ kind: 'apiKey', id: other.id, username: other.username }],
      target: expect.stringMatching(/./),
    }]);
    // An upload is audited under the catalog's operation that completes it.
    expect(written[0]?.operation).toMatch(operation === 'uploadImage' ? /^catalog\.finishImage$/ : new RegExp(`^\\w+\\.${operation}$`));
    expect(Date.parse(written[0]?.at ?? '')).toBeGreaterThan(begun - 5_000);
  });

  it('does not record what users do to their own resources', async () => {
    const { username, bearer } = await newCustomer();
    const as = { bearer };
    const { id: plantId } = await createPlant();
    const { id } = await placeOrder({ plantId }, as);
    await ok(send('DELETE', `/v3/store/order/${id}`, { as }));
    await ok(send('PUT', `/v3/user/${username}`, { as, json: { phone: '1' } }));
    await ok(send('POST', `/v3/user/${username}/apiKeys`, { as, json: { name: 'k' } }));
    expect(await ok(audit({ subject: username }))).toEqual([]);
  });

  it('lists the entries of all services page by page, newest first', async () => {
    const before = (await ok(audit({ subject: 'admin', limit: '1' })))[0];
    const plant = await createPlant();
    await ok(send('PUT', `/v3/store/inventory/${plant.id}`, { as: staff, json: { free: 1 } }));
    const { username } = await newCustomer();
    await ok(send('PUT', `/v3/user/${username}`, { as: staff, json: { phone: '2' } }));
    await ok(send('DELETE', `/v3/plant/${plant.id}`, { as: staff }));
    const seen: Entry[] = [];
    for (let query: Record<string, string> = { subject: 'admin', limit: '1' }; ; ) {
      const { headers, body } = await audit(query);
      const [entry] = body;
      if (!entry || entry.at === before?.at) break;
      seen.push(entry);
      const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      if (next === undefined) break;
      query = Object.fromEntries(new URL(next).searchParams);
    }
    expect(seen.map(({ operation }) => operation)).toEqual(['catalog.deletePlant', 'identity.updateUser', 'store.setStock', 'catalog.createPlant']);
    expect(seen.map(({ at }) => at)).toEqual(seen.map(({ at }) => at).sort().reverse());
    expect(seen.map(({ targetUsername }) => targetUsername)).toEqual([undefined, username, undefined, undefined]);
    const [last, , third] = seen;
    const since = await ok(audit({ subject: 'admin', from: third!.at }));
    expect([since[0]?.id, since.every(({ at }) => at >= third!.at)]).toEqual([last!.id, true]);
    expect((await ok(audit({ subject: 'admin', from: third!.at, to: last!.at }))).some(({ at }) => at >= last!.at)).toBe(false);
    expect((await ok(audit({ operation: 'store.setStock', limit: '1' })))[0]?.target).toMatch(new RegExp(`^${plant.id}: \\d+ to \\d+$`));
  });

  it('refuses invalid cursors and limits, and unknown usernames', async () => {
    await problem(audit({ cursor: 'x' }), 400, 'invalid-cursor');
    await problem(audit({ limit: '0' }), 400, 'invalid-input');
    await problem(audit({ from: 'yesterday' }), 400, 'invalid-input');
    await problem(audit({ subject: fresh('nobody') }), 404, 'user-not-found');
  });

  it('matches a subject that looks like an id against both ids and usernames', async () => {
    const stockSetBy = async (username: string) => {
      const password = 'a long enough password';
      await ok(send('POST', '/v3/user', { json: { username, password } }));
      await rows('identity', `UPDATE users SET role = 'staff' WHERE username = $1`, [username]);
      const { id } = await createPlant();
      await ok(send('PUT', `/v3/store/inventory/${id}`, { as: { bearer: await login(username, password) }, json: { free: 1 } }));
      return expect.stringMatching(`^${id}: `);
    };
    const likeAnId = randomUUID();
    const target = await stockSetBy(likeAnId);
    const found = await ok(audit({ subject: likeAnId }));
    expect(found).toMatchObject([{ operation: 'store.setStock', username: likeAnId, target }]);
    const [{ subject = '' } = {}] = found;
    expect(await ok(audit({ subject }))).toEqual(found);
    const other = await stockSetBy(subject);
    const ofBoth = [{ username: subject, target: other }, { username: likeAnId, target }];
    expect(await ok(audit({ subject }))).toMatchObject(ofBoth);
    const { headers, body } = await audit({ subject, limit: '1' });
    const next = new URL(/<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? '');
    expect([...body, ...(await ok(audit(Object.fromEntries(next.searchParams))))]).toMatchObject(ofBoth);
    expect(await ok(audit({ subject: randomUUID() }))).toEqual([]);
  });

  it('keeps the entries of a deleted user, without the username, which another user may have by then', async () => {
    const clerk = await newCustomer();
    await rows('identity', `UPDATE users SET role = 'staff' WHERE username = $1`, [clerk.username]);
    const as = { bearer: await login(clerk.username, clerk.password) };
    const { id } = await createPlant();
    await ok(send('PUT', `/v3/store/inventory/${id}`, { as, json: { free: 1 } }));
    const [{ subject = '' } = {}] = await ok(audit({ subject: clerk.username }));
    await ok(send('DELETE', `/v3/user/${clerk.username}`, { as: staff }));
    await until(async () => (await ok(audit({ subject })))[0]?.username === undefined);
    expect(await ok(audit({ subject }))).toMatchObject([{ operation: 'store.setStock', subject, target: expect.stringMatching(`^${id}: `) }]);
  });
});
