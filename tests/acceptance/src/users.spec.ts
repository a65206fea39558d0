import { describe, expect, it } from '@jest/globals';
import { createPlant, fresh, gatewayUrl, login, newCustomer, ok, placeOrder, problem, send, sendLogin, staff, until } from './shop.js';

interface User {
  id: number;
  username: string;
  [field: string]: unknown;
}

const inventoryAs = (bearer: string) => send('GET', '/v3/store/inventory', { as: { bearer } });

describe('users', () => {
  it('POST /user returns the user without the password', async () => {
    const sent = {
      username: fresh('Ada'),
      firstName: 'Ada',
      lastName: 'Lovelace',
      email: 'ada@example.org',
      phone: '+44 20 7946 0000',
      userStatus: 1,
    };
    const create = (json: unknown) => send<User>('POST', '/v3/user', { json });
    const user = await ok(create({ ...sent, password: 'analytical engine' }));
    expect(user).toEqual({ id: expect.any(Number), ...sent, emailVerified: false, orderMails: false, updatedAt: expect.any(String) });
    await problem(create({ ...sent, password: 'other password' }), 409, 'username-taken');
    await problem(create({ username: sent.username.toUpperCase(), password: 'p' }), 409, 'username-taken');
    await problem(create({ username: fresh('x'), password: 'some password', id: user.id }), 409, 'user-id-taken');
  });

  it('POST /user/createWithList imports all users or none, with pointers to errors', async () => {
    const [one, two] = [fresh('list'), fresh('list')];
    const user = (username: string) => ({ username, password: 'some password' });
    const create = (json: unknown) => send<User[]>('POST', '/v3/user/createWithList', { json });
    const bad = await problem(create([user(one), { username: two }]), 400, 'invalid-input');
    expect(bad.errors?.map((error) => error.pointer)).toEqual(['/1/password']);
    const twin = await problem(create([user(one), user(two), user(one)]), 409, 'username-taken');
    expect(twin.errors?.map((error) => error.pointer)).toEqual(['/2/username']);
    await problem(send('GET', `/v3/user/${one}`), 404, 'user-not-found');
    expect((await ok(create([user(one), user(two)]))).map((created) => created.username)).toEqual([one, two]);
    await problem(create([]), 400, 'invalid-input');
    await problem(create({ 0: user(fresh('x')) }), 400, 'invalid-input');
  });

  it('GET /user/{username} returns the public profile to every caller, and the full one to its owner and staff', async () => {
    const customer = await newCustomer();
    const json = { firstName: 'Rosa', email: 'rosa@example.org' };
    await ok(send('PUT', `/v3/user/${customer.username}`, { as: customer, json }));
    const seenBy = (as = {}) => ok(send<User>('GET', `/v3/user/${customer.username}`, { as }));
    expect(await seenBy()).toEqual({ id: expect.any(Number), username: customer.username, firstName: 'Rosa' });
    expect(await seenBy(customer)).toMatchObject({ email: 'rosa@example.org' });
    expect(await seenBy(staff)).toMatchObject({ email: 'rosa@example.org' });
    await problem(send('GET', `/v3/user/${fresh('nobody')}`), 404, 'user-not-found');
  });

  it('PATCH /user/{username} merges under the rules of PUT; external id and metadata are for callers with write:users', async () => {
    const customer = await newCustomer();
    const path = `/v3/user/${customer.username}`;
    const patch = (json: unknown, as: object = customer) => send<User>('PATCH', path, { as, json });
    expect(await ok(patch({ firstName: 'Rosa', phone: '1' }))).toMatchObject({ firstName: 'Rosa', phone: '1' });
    expect(await ok(patch({ phone: null }))).not.toHaveProperty('phone');
    const own = { externalId: fresh('C'), metadata: { segment: fresh('s') } };
    await problem(patch(own), 403, 'forbidden');
    expect(await ok(patch(own, staff))).toMatchObject({ firstName: 'Rosa', ...own });
    expect(await ok(send<User>('GET', path))).not.toHaveProperty('externalId');
    const found = (query: Record<string, string>) => ok(send<User[]>('GET', `/v3/user?${new URLSearchParams(query).toString()}`, { as: staff }));
    for (const query of [{ externalId: own.externalId }, { 'metadata[segment]': own.metadata.segment }]) expect(await found(query)).toMatchObject([{ username: customer.username, ...own }]);
    const { username: other } = await newCustomer();
    await problem(send('PATCH', `/v3/user/${other}`, { as: staff, json: { externalId: own.externalId } }), 409, 'external-id-exists');
    await problem(patch({ username: null }), 400, 'invalid-input');
    await problem(send('POST', '/v3/user', { json: { username: fresh('x'), password: 'a long enough password', ...own } }), 403, 'forbidden');
    await ok(send('DELETE', path, { as: customer }));
    expect(await found({ externalId: own.externalId })).toEqual([]);
  });

  it('POST /user/{username}/emailVerification and /recovery send links, and say nothing about accounts', async () => {
    const customer = await newCustomer();
    const path = `/v3/user/${customer.username}`;
    const verification = (as: object) => send('POST', `${path}/emailVerification`, { as });
    await ok(send('PATCH', path, { as: customer, json: { email: 'no address' } }));
    await problem(verification(customer), 409, 'email-not-mailable');
    const email = `${fresh('ada')}@shop.test`;
    expect(await ok(send<User>('PATCH', path, { as: customer, json: { email, orderMails: true } }))).toMatchObject({ email, emailVerified: false, orderMails: true });
    expect(await ok(verification(customer))).toMatchObject({ message: email });
    await problem(verification(await newCustomer()), 403, 'forbidden');
    const recovery = (json: unknown) => send('POST', '/v3/recovery', { json });
    const answers = await Promise.all([{ email }, { username: customer.username }, { username: fresh('nobody') }].map(async (json) => ok(recovery(json))));
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    await problem(recovery({}), 400, 'invalid-input');
    const nobody = fresh('nobody');
    for (let n = 0; n < 5; n++) await ok(recovery({ username: nobody }));
    const { headers } = await send('POST', '/v3/recovery', { json: { username: nobody } });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    await problem(recovery({ username: nobody }), 429, 'too-many-mails');
  });

  it('GET /user/me returns the user of any credential, with the role', async () => {
    const customer = await newCustomer();
    const own = await ok(send<User>('GET', '/v3/user/me', { as: customer }));
    expect(own).toMatchObject({ username: customer.username, role: 'customer' });
    const { key } = await ok(send<{ key: string }>('POST', `/v3/user/${customer.username}/apiKeys`, { as: customer, json: { name: 'k' } }));
    expect(await ok(send<User>('GET', '/v3/user/me', { as: { apiKey: key } }))).toEqual(own);
    expect(await ok(send<User>('GET', '/v3/user/me', { as: staff }))).toMatchObject({ username: 'admin', role: 'admin' });
    await problem(send('GET', '/v3/user/me'), 401, 'unauthorized');
  });

  it('GET /user finds users by prefix and by role, for callers with write:users', async () => {
    const prefix = fresh('Found');
    const names = ['a', 'b', 'c'].map((one) => `${prefix}-${one}`);
    for (const username of names) await ok(send('POST', '/v3/user', { json: { username, password: 'some password', email: 'a@example.org' } }));
    const find = (query: Record<string, string | number>, as: object = staff) =>
      send<User[]>('GET', `/v3/user?${new URLSearchParams(query as Record<string, string>).toString()}`, { as });
    const found = await ok(find({ q: prefix.toLowerCase() }));
    expect(found.map(({ username }) => username)).toEqual(names);
    expect(found[0]).toMatchObject({ email: 'a@example.org', role: 'customer' });
    const first = await find({ q: prefix, limit: 2 });
    expect(first.body).toHaveLength(2);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect((await ok(send<User[]>('GET', next.replace(gatewayUrl(), ''), { as: staff }))).map(({ username }) => username)).toEqual([names[2]]);
    await problem(send('GET', `${next.replace(gatewayUrl(), '')}&role=staff`, { as: staff }), 400, 'invalid-cursor');
    expect(await ok(find({ q: prefix, role: 'staff' }))).toEqual([]);
    expect((await ok(find({ role: 'admin' }))).map(({ username }) => username)).toContain('admin');
    const { errors } = await problem(find({ role: 'king' }), 400, 'invalid-input');
    expect(errors).toEqual([{ parameter: 'role', detail: 'role must be one of customer, staff, admin' }]);
    await problem(find({ q: prefix }, await newCustomer()), 403, 'forbidden');
    await problem(find({ q: prefix }, {}), 401, 'unauthorized');
  });

  it('PUT /user/{username}/role assigns a role, which takes effect within a second', async () => {
    const { bearer, username } = await newCustomer();
    const path = `/v3/user/${username}`;
    const give = (json: unknown, headers: Record<string, string> = {}, as: object = staff) => send<User>('PUT', `${path}/role`, { as, json, headers });
    const addPlant = async () => (await send('POST', '/v3/plant', { as: { bearer }, json: { name: 'Fern', photoUrls: [] } })).status;
    expect(await addPlant()).toBe(403);
    const before = await send<User>('GET', path, { as: staff });
    expect(before.body).toMatchObject({ role: 'customer' });
    const ifMatch = { 'if-match': before.headers.get('etag') ?? '' };
    await problem(give({ role: 'staff' }, { 'if-match': '"999999999"' }), 412, 'precondition-failed');
    const given = await give({ role: 'staff' }, ifMatch);
    expect(given).toMatchObject({ status: 200, body: { username, role: 'staff' } });
    expect(given.headers.get('etag')).not.toBe(ifMatch['if-match']);
    // The gateway that answered applies it at once, other gateways within a second.
    await until(async () => (await addPlant()) === 200, 1_000);
    await problem(give({ role: 'customer' }, ifMatch), 412, 'precondition-failed');
    await ok(give({ role: 'customer' }));
    await until(async () => (await addPlant()) === 403, 1_000);

    expect((await problem(give({ role: 'king' }), 400, 'invalid-input')).errors).toEqual([{ pointer: '/role', detail: 'must be one of customer, staff, admin' }]);
    await problem(give({}), 400, 'invalid-input');
    await problem(give({ role: 'admin' }, {}, { bearer }), 403, 'forbidden');
    await problem(send('PUT', `/v3/user/${fresh('nobody')}/role`, { as: staff, json: { role: 'staff' } }), 404, 'user-not-found');
  });

  it("PUT /user/{username} requires the user's session or write:users", async () => {
    const [mine, other] = [await newCustomer(), await newCustomer()];
    const change = (as: object, json: unknown) => send<User>('PUT', `/v3/user/${mine.username}`, { as, json });
    await problem(change({}, { firstName: 'x' }), 401, 'unauthorized');
    await problem(change(other, { firstName: 'x' }), 403, 'forbidden');
    expect(await ok(change(staff, { firstName: 'Staff' }))).toMatchObject({ firstName: 'Staff' });
    await problem(change(mine, { username: other.username }), 409, 'username-taken');
    const renamed = fresh('renamed');
    expect(await ok(change(mine, { username: renamed }))).toMatchObject({ username: renamed, firstName: 'Staff' });
    await problem(send('GET', `/v3/user/${mine.username}`), 404, 'user-not-found');
  });

  it("a new password ends the user's other sessions within a second, and the old password is refused", async () => {
    const customer = await newCustomer();
    const other = await login(customer.username, customer.password);
    await ok(inventoryAs(other));
    await ok(send('PUT', `/v3/user/${customer.username}`, { as: customer, json: { password: 'a new password' } }));
    await until(async () => (await inventoryAs(other)).status === 401, 1_000);
    await ok(inventoryAs(customer.bearer));
    await problem(sendLogin(customer.username, customer.password), 401, 'login-failed');
    await login(customer.username, 'a new password');
  });

  it('DELETE /user/{username} is refused while orders are open; then it deletes the account and its sessions', async () => {
    const customer = await newCustomer();
    const { id: plantId } = await createPlant();
    const order = await placeOrder({ plantId }, customer);
    const remove = () => send('DELETE', `/v3/user/${customer.username}`, { as: customer });
    expect((await problem(remove(), 409, 'user-has-open-orders'))['orders']).toEqual([order.id]);
    await ok(send('DELETE', `/v3/store/order/${order.id}`, { as: customer }));
    expect(await ok(remove())).toMatchObject({ code: 200, type: 'SUCCESS' });
    await problem(send('GET', `/v3/user/${customer.username}`), 404, 'user-not-found');
    await until(async () => (await inventoryAs(customer.bearer)).status === 401, 1_000);
    expect(await ok(send('GET', `/v3/store/order/${order.id}`, { as: staff }))).toMatchObject({ status: 'cancelled' });
  });
});

describe('sessions', () => {
  it('GET /user/login returns the token, its expiry and the attempts left, with no-store', async () => {
    const customer = await newCustomer();
    const answer = await sendLogin(customer.username, customer.password);
    expect(answer.body).toEqual({ code: 200, type: 'SUCCESS', message: expect.stringMatching(/^[\w-]{40,}$/) });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(Number(answer.headers.get('x-rate-limit'))).toBeGreaterThan(0);
    expect(Date.parse(answer.headers.get('x-expires-after') ?? '') - Date.now()).toBeGreaterThan(23 * 3_600_000);
  });

  it('an unknown username and a wrong password get the same answer', async () => {
    const customer = await newCustomer();
    const fail = async (username: string) => {
      const { requestId, ...rest } = await problem(sendLogin(username, 'wrong'), 401, 'login-failed');
      expect(requestId).toBeTruthy();
      return rest;
    };
    expect(await fail(customer.username)).toEqual(await fail(fresh('nobody')));
    await problem(send('GET', '/v3/user/login'), 400, 'invalid-input');
    await problem(send('GET', '/v3/user/login?username=a&username=b&password=c'), 400, 'invalid-input');
  });

  it('GET /user/logout ends the session before it answers, and is 200 without a session too', async () => {
    const customer = await newCustomer();
    await ok(send('GET', '/v3/store/inventory', { as: { sessionToken: customer.bearer } }));
    expect(await ok(send('GET', '/v3/user/logout', { as: customer }))).toMatchObject({ code: 200, type: 'SUCCESS' });
    await problem(inventoryAs(customer.bearer), 401, 'credential-refused');
    expect(await ok(send('GET', '/v3/user/logout'))).toMatchObject({ code: 200 });
  });
});
