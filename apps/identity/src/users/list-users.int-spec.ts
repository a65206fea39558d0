import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity, type ListUsers } from '@plant-shop/contracts/identity';
import { contextFor } from '@plant-shop/service-testing/service';
import { manager, TestIdentity } from '../identity.spec.fixture.js';

describe('listing users', () => {
  let shop: TestIdentity;
  beforeAll(async () => {
    shop = await TestIdentity.start();
    for (const username of ['bob', 'Ann', 'anna', 'ANNE', 'an.n', 'an_n', 'zoe@shop', 'Zoe+1']) await shop.register({ username, phone: '1' });
    await shop.sql.query(`UPDATE users SET role = 'staff' WHERE username IN ('anna', 'bob')`);
    await shop.sql.query(`UPDATE users SET role = 'admin' WHERE username = 'Ann'`);
  });
  afterAll(() => shop.stop());

  const pageOf = async (request: ListUsers) => {
    const { payload, next } = await shop.caller.client.callRaw(identity.listUsers, request, contextFor(manager));
    return { names: (JSON.parse(Buffer.from(payload).toString()) as { username: string }[]).map(({ username }) => username), next };
  };
  const named = async (request: ListUsers): Promise<string[]> => (await pageOf(request)).names;

  it('returns full profiles ordered by name, ignoring case', async () => {
    expect(await named({})).toEqual(['an.n', 'an_n', 'Ann', 'anna', 'ANNE', 'bob', 'Zoe+1', 'zoe@shop']);
    const [first] = await shop.call(identity.listUsers, { q: 'bob' }, manager);
    expect(first).toEqual({ id: expect.any(Number), username: 'bob', phone: '1', orderMails: false, role: 'staff', updatedAt: expect.any(String) });
  });

  it('finds names by a literal prefix, ignoring case', async () => {
    expect(await named({ q: 'ANN' })).toEqual(['Ann', 'anna', 'ANNE']);
    expect(await named({ q: 'anne' })).toEqual(['ANNE']);
    expect(await named({ q: 'an_' })).toEqual(['an_n']);
    expect(await named({ q: 'zoe+' })).toEqual(['Zoe+1']);
    expect(await named({ q: '' })).toHaveLength(8);
    for (const q of ['%', 'nn', 'zz', 'an\u{10FFFF}', 'ann ', 'K']) expect(await named({ q })).toEqual([]);
  });

  it('searches for the beginning of a username, name or last name, and for an e-mail address, whatever their case', async () => {
    const people = [{ username: 'p1', firstName: 'Анна', lastName: 'Иванова' }, { username: 'p2', lastName: 'de Vries', email: 'Jan@Shop.example' }, { username: 'de2', firstName: 'محمد', lastName: '<b>x' }];
    for (const one of people) await shop.register(one);
    for (const [search, found] of [['Анна', ['p1']], ['иван', ['p1']], ['АННА ИВ', ['p1']], ['Анна Ив', ['p1']], ['Иванова', ['p1']], ['de', ['de2', 'p2']], ['DE V', ['p2']], ['jan@shop.EXAMPLE', ['p2']], ['jan@', []], ['محمد', ['de2']], ['<b>', ['de2']], ['Vries', []], ['%', []]] as const) {
      expect({ search, found: await named({ search }) }).toEqual({ search, found });
    }
    const { names, next } = await pageOf({ search: 'de', limit: 1 });
    expect([names, await named({ search: 'de', cursor: next ?? '' })]).toEqual([['de2'], ['p2']]);
    await expect(named({ search: 'p', cursor: next ?? '' })).rejects.toMatchObject({ code: 'invalid-cursor' });
    for (const { username } of people) await shop.sql.query('DELETE FROM users WHERE username = $1', [username]);
  });

  it('filters by role', async () => {
    expect(await named({ role: 'staff' })).toEqual(['anna', 'bob']);
    expect(await named({ role: 'staff', q: 'b' })).toEqual(['bob']);
    expect(await named({ role: 'admin' })).toEqual(['Ann']);
  });

  const filters: Pick<ListUsers, 'q' | 'role'>[] = [{}, { q: 'an' }, { role: 'customer' }, { q: 'z', role: 'customer' }];
  it.each(filters)('returns every user once, page by page: %j', async (filter) => {
    const seen: string[] = [];
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
      const { names, next } = await pageOf({ ...filter, limit: 2, ...(cursor !== undefined && { cursor }) });
      expect(names.length).toBeLessThanOrEqual(2);
      seen.push(...names);
      cursor = next;
    }
    expect(seen).toEqual(await named(filter));
  });

  it('is not what searches of orders find: at most 100 users by name, and by e-mail address only if asked', async () => {
    for (let n = 0; n < 101; n++) await shop.sql.query(`INSERT INTO users (user_id, id, username, password_hash, email) VALUES (gen_random_uuid(), $1, $2, '', $3)`, [9_000 + n, `many${n}`, `Many${n}@shop.example`]);
    const find = async (q: string, byEmail = false) => (await shop.call(identity.findUserIds, { q, byEmail })).userIds.length;
    expect(await find('MANY')).toBe(100);
    expect(await find('many10')).toBe(2);
    expect(await find('many7@SHOP.example')).toBe(0);
    expect(await find('many7@SHOP.example', true)).toBe(1);
    expect(await find('none', true)).toBe(0);
    await shop.sql.query(`DELETE FROM users WHERE username LIKE 'many%'`);
  });

  it('refuses a cursor of other metadata, whatever characters its names have', async () => {
    for (let n = 0; n < 2; n++) {
      const { username } = await shop.register();
      await shop.call(identity.updateUser, { username, user: { metadata: { 'a=b': 'c' } } }, manager);
    }
    const { next = '' } = await pageOf({ metadata: { 'a=b': 'c' }, limit: 1 });
    expect(await named({ metadata: { 'a=b': 'c' }, cursor: next })).toHaveLength(1);
    await expect(shop.call(identity.listUsers, { metadata: { a: 'b=c' }, cursor: next }, manager)).rejects.toMatchObject({ code: 'invalid-cursor' });
  });

  it('refuses a cursor of another search and a made-up one', async () => {
    const { next = '' } = await pageOf({ q: 'an', limit: 1 });
    expect(await named({ q: 'AN', limit: 1, cursor: next })).toEqual(['an_n']);
    for (const request of [{ q: 'a', cursor: next }, { cursor: next }, { q: 'an', role: 'staff', cursor: next }, { q: 'an', cursor: 'x' }] as const) {
      await expect(shop.call(identity.listUsers, request, manager)).rejects.toMatchObject({ code: 'invalid-cursor' });
    }
  });

  it('needs write:users, even with a session', async () => {
    const { principal } = await shop.registerAndLogin();
    await expect(shop.call(identity.listUsers, {}, principal)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('refuses an unknown role', async () => {
    await expect(shop.call(identity.listUsers, { role: 'king' as 'admin' }, manager)).rejects.toMatchObject({
      code: 'invalid-input',
      details: { errors: [{ pointer: '/role' }] },
    });
  });
});
