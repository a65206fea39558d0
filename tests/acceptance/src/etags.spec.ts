import { afterAll, describe, expect, it } from '@jest/globals';
import type { Credentials } from '@plant-shop/testing/http';
import { type Answer, type Customer, createPlant, fresh, login, newCustomer, ok, problem, send, staff } from './shop.js';

interface Options {
  readonly as?: Credentials;
  readonly json?: unknown;
  readonly form?: Record<string, string>;
  readonly ifMatch?: string;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string; readonly responses: Readonly<Record<string, { readonly headers?: object }>> }>>>>;
}

const anyone: Credentials = {};
/** Operations whose ETags were compared. */
const compared = new Set<string>();

/** The tags of one resource, under all its names, and of everybody who had one: each stands for one body and is never given to another. */
class Tags {
  private readonly bodies = new Map<string, string>();
  /** The latest tag of each viewer. */
  private current = new Map<string, string>();
  /** Tags of versions before the current one. */
  private former: string[] = [];

  /** Sends a request that reads or changes the resource, and compares its tag with those before. */
  async ask(operation: string, request: string, { ifMatch, ...options }: Options = {}): Promise<Answer<Record<string, unknown>>> {
    const [method = '', path = ''] = request.split(' ');
    const answer = await send<Record<string, unknown>>(method, path, { ...options, ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }) });
    await ok(Promise.resolve(answer));
    const etag = answer.headers.get('etag') ?? '';
    const body = JSON.stringify(answer.body);
    compared.add(operation);
    expect(etag).toMatch(/^"\d+-\w{1,7}"$/);
    expect({ operation, etag, body: this.bodies.get(etag) ?? body }).toEqual({ operation, etag, body });
    const isOther = [...this.current.values()].some((one) => versionOf(one) !== versionOf(etag));
    if (isOther) this.supersede();
    expect(this.former.map(versionOf)).not.toContain(versionOf(etag));
    this.bodies.set(etag, body);
    this.current.set(body, etag);
    return answer;
  }

  /** Reads the resource as each of the viewers. Each has a tag of its own, unless the bodies are equal, and gets 304 by no other. */
  async read(operation: string, path: string, viewers: readonly Credentials[]): Promise<readonly string[]> {
    const seen: { as: Credentials; etag: string; body: string }[] = [];
    for (const as of viewers) {
      const { headers, body } = await this.ask(operation, `GET ${path}`, { as });
      seen.push({ as, etag: headers.get('etag') ?? '', body: JSON.stringify(body) });
    }
    for (const mine of seen) {
      for (const other of seen) expect(mine.etag === other.etag).toBe(mine.body === other.body);
      for (const etag of [...seen.map((one) => one.etag), ...this.former]) {
        const { status } = await send('GET', path, { as: mine.as, headers: { 'if-none-match': etag } });
        expect({ path, mine, etag, status }).toEqual({ path, mine, etag, status: etag === mine.etag ? 304 : 200 });
      }
    }
    return seen.map(({ etag }) => etag);
  }

  /** Sends a change by each tag of former versions, which must all be refused. */
  async refuses(request: string, options: Options): Promise<void> {
    const [method = '', path = ''] = request.split(' ');
    expect(this.former.length).toBeGreaterThan(0);
    for (const etag of new Set(this.former)) {
      await problem(send(method, path, { ...options, headers: { 'if-match': etag } }), 412, 'precondition-failed');
    }
  }

  /** Declares that the resource is gone or its name leads to another one: no tag is current any more. */
  supersede(): void {
    this.former.push(...this.current.values());
    this.current = new Map();
  }
}

const versionOf = (etag: string): string => etag.slice(1, etag.indexOf('-'));

describe('entity tags', () => {
  afterAll(async () => {
    const { paths } = await ok(send<Document>('GET', '/v3/openapi.json'));
    const tagged = Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap(({ operationId, responses }) => (operationId !== undefined && 'ETag' in (responses['200']?.headers ?? {}) ? [operationId] : [])),
    );
    // Those of a picture and of the document are digests of the whole file.
    expect([...compared, 'getImage', 'getOpenApi'].sort()).toEqual(tagged.sort());
  });

  it('of a plant and its stock never come back, also when the id is used again', async () => {
    const id = Date.now();
    const plant = { id, name: 'Fern', photoUrls: [] };
    const [tags, stock] = [new Tags(), new Tags()];
    const stockPath = `/v3/store/inventory/${id}`;
    for (let life = 1; life <= 2; life++) {
      await tags.ask('createPlant', 'POST /v3/plant', { as: staff, json: plant });
      for (const [operation, request, how] of [
        ['replacePlant', 'PUT /v3/plant', { json: { ...plant, name: 'Ficus' } }],
        ['patchPlant', `PATCH /v3/plant/${id}`, { json: { name: 'Fig' } }],
        ['changePlant', `POST /v3/plant/${id}`, { form: { name: 'Fern' } }],
      ] as const) {
        const [mine, theirs] = await tags.read('getPlant', `/v3/plant/${id}`, [anyone, staff]);
        expect(mine).toBe(theirs);
        await tags.ask(operation, request, { as: staff, ...how, ifMatch: mine ?? '' });
        await tags.refuses(request, { as: staff, ...how });
      }
      await tags.refuses(`DELETE /v3/plant/${id}`, { as: staff });
      const [etag = ''] = await stock.read('getStock', stockPath, [staff]);
      const set = await stock.ask('setStock', `PUT ${stockPath}`, { as: staff, json: { free: 7 }, ifMatch: etag });
      await stock.ask('adjustStock', `POST ${stockPath}/adjustment`, { as: staff, json: { by: 1, reason: 'count' }, ifMatch: set.headers.get('etag') ?? '' });
      await stock.refuses(`POST ${stockPath}/adjustment`, { as: staff, json: { by: 1, reason: 'count' } });
      await stock.refuses(`PUT ${stockPath}`, { as: staff, json: { free: 9 } });
      const [current = ''] = await tags.read('getPlant', `/v3/plant/${id}`, [anyone]);
      await ok(send('DELETE', `/v3/plant/${id}`, { as: staff, headers: { 'if-match': current } }));
      tags.supersede();
      stock.supersede();
    }
  });

  it("of an order differ with the owner's name, and each viewer's is accepted", async () => {
    const [owner, other] = [await newCustomer(), await newCustomer()];
    const { id: plantId } = await createPlant();
    const tags = new Tags();
    // Orders with a ship date wait for staff.
    const placed = await tags.ask('placeOrder', 'POST /v3/store/order', { as: owner, json: { plantId, shipDate: '2099-01-01T00:00:00Z' } });
    const path = `/v3/store/order/${String(placed.body['id'])}`;
    const read = () => tags.read('getOrder', path, [owner, staff]);
    const [, named] = await read();
    await ok(send('PUT', `/v3/user/${owner.username}`, { as: staff, json: { username: fresh('renamed') } }));
    // The version is the same, but the name in the body is new.
    expect((await send('GET', path, { as: staff, headers: { 'if-none-match': named ?? '' } })).status).toBe(200);
    const [own = '', renamed] = await read();
    expect(renamed).not.toBe(named);
    await tags.ask('reportPayment', `POST ${path}/payment`, { as: staff, json: { outcome: 'succeeded', reference: fresh('paid') } });
    await tags.refuses(`POST ${path}/shipment`, { as: staff, json: { carrier: 'c', trackingNumber: 't' } });
    const [mine = '', theirs = ''] = await read();
    expect(mine).not.toBe(own);
    await tags.ask('shipOrder', `POST ${path}/shipment`, { as: staff, json: { carrier: 'c', trackingNumber: 't' }, ifMatch: mine });
    await tags.refuses(`POST ${path}/transfer`, { as: staff, json: { username: other.username } });
    expect(versionOf(theirs)).toBe(versionOf(mine));
    await tags.ask('transferOrder', `POST ${path}/transfer`, { as: staff, json: { username: other.username }, ifMatch: (await read())[1] ?? '' });
    await tags.refuses(`POST ${path}/delivery`, { as: staff });
    await tags.ask('deliverOrder', `POST ${path}/delivery`, { as: staff, ifMatch: (await tags.read('getOrder', path, [other, staff]))[0] ?? '' });

    const cancelled = new Tags();
    const { body } = await cancelled.ask('placeOrder', 'POST /v3/store/order', { as: other, json: { plantId, shipDate: '2099-01-01T00:00:00Z' } });
    const request = `DELETE /v3/store/order/${String(body['id'])}`;
    const [, seenByStaff = ''] = await cancelled.read('getOrder', request.slice(7), [other, staff]);
    await cancelled.ask('cancelOrder', request, { as: other, ifMatch: seenByStaff });
    await cancelled.refuses(request, { as: other });

    const revoked = new Tags();
    const last = await revoked.ask('placeOrder', 'POST /v3/store/order', { as: other, json: { plantId, shipDate: '2099-01-01T00:00:00Z' } });
    const cancellation = { as: staff, json: { reason: 'It died', restock: false } };
    const revoke = `POST /v3/store/order/${String(last.body['id'])}/cancellation`;
    await revoked.ask('cancelOrderByStaff', revoke, { ...cancellation, ifMatch: last.headers.get('etag') ?? '' });
    await revoked.refuses(revoke, cancellation);
  });

  it('of a user differ with what the viewer may see, and lead to nobody who has the name later', async () => {
    const username = fresh('name');
    const password = 'a long enough password';
    const path = `/v3/user/${username}`;
    const tags = new Tags();
    const changes = [
      ['updateUser', `PUT ${path}`, { firstName: 'Ada' }],
      ['patchUser', `PATCH ${path}`, { firstName: null }],
      ['setUserRole', `PUT ${path}/role`, { role: 'staff' }],
    ] as const;
    /** Registers a user with the name, or renames one to it. */
    const arrivals = [
      () => tags.ask('createUser', 'POST /v3/user', { json: { username, password, phone: '1' } }),
      () => tags.ask('createUser', 'POST /v3/user', { json: { username, password, phone: '1' } }),
      async () => {
        const { username: before, bearer } = await newCustomer();
        await tags.ask('updateUser', `PUT /v3/user/${before}`, { as: { bearer }, json: { username, password, phone: '1' } });
      },
    ];
    for (const [n, arrive] of arrivals.entries()) {
      await arrive();
      const own = { bearer: await login(username, password) };
      for (const [operation, request, json] of changes) {
        const viewers = [anyone, own, staff];
        const seen = await tags.read('getUser', path, viewers);
        expect(new Set(seen).size).toBe(3);
        if (n > 0) await tags.refuses(request, { as: staff, json });
        await tags.ask(operation, request, { as: staff, json, ifMatch: seen[n] ?? '' });
        await tags.refuses(request, { as: staff, json });
      }
      await new Tags().read('getOwnUser', '/v3/user/me', [own]);
      await tags.refuses(`DELETE ${path}`, { as: staff });
      const [current = ''] = await tags.read('getUser', path, [anyone]);
      if (n === 0) await ok(send('DELETE', path, { as: staff, headers: { 'if-match': current } }));
      else await ok(send('PUT', path, { as: staff, json: { username: fresh('other') }, headers: { 'if-match': current } }));
      tags.supersede();
    }
  });

  it('of a webhook are those of its owner alone', async () => {
    const owner: Customer = await newCustomer();
    const tags = new Tags();
    const webhook = { url: 'https://receiver.example/', orderId: 1 };
    const made = await tags.ask('createWebhook', 'POST /v3/webhooks', { as: owner, json: webhook });
    const path = `/v3/webhooks/${String(made.body['id'])}`;
    await tags.read('getWebhook', path, [owner]);
    await tags.ask('replaceWebhook', `PUT ${path}`, { as: owner, json: { ...webhook, orderId: 2 }, ifMatch: made.headers.get('etag') ?? '' });
    await tags.refuses(`PUT ${path}`, { as: owner, json: webhook });
    await tags.refuses(`DELETE ${path}`, { as: owner });
    const [current = ''] = await tags.read('getWebhook', path, [owner]);
    await ok(send('DELETE', path, { as: owner, headers: { 'if-match': current } }));
  });

  // How far behind it is changes between two answers, so nothing is read twice with one tag.
  it('of a destination never come back', async () => {
    const tags = new Tags();
    const destination = { name: 'Warehouse', url: 'tls://broker.example:4222', stream: 'EVENTS' };
    const made = await tags.ask('createDestination', 'POST /v3/destinations', { as: staff, json: destination });
    const path = `/v3/destinations/${String(made.body['id'])}`;
    const found = await tags.ask('getDestination', `GET ${path}`, { as: staff });
    await tags.ask('replaceDestination', `PUT ${path}`, { as: staff, json: { ...destination, state: 'disabled' }, ifMatch: found.headers.get('etag') ?? '' });
    await tags.refuses(`PUT ${path}`, { as: staff, json: destination });
    await tags.refuses(`DELETE ${path}`, { as: staff });
    const { headers } = await tags.ask('getDestination', `GET ${path}`, { as: staff });
    await ok(send('DELETE', path, { as: staff, headers: { 'if-match': headers.get('etag') ?? '' } }));
  });
});
