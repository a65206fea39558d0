import { beforeAll, describe, expect, it } from '@jest/globals';
import { createShop, type Credential, type ProblemCode, ShopError, ShopProblem } from '@plant-shop/client';
import { startProxy } from '@plant-shop/testing/proxy';
import { createPlant, fresh, gatewayUrl, newCustomer } from '../shop.js';

// Tests of the client library against a complete shop.

const shopOf = (credential?: Credential, url = gatewayUrl()) => createShop({ url, ...(credential && { credential }) });
const ours = shopOf({ apiKey: 'special-key' });
const problemOf = async (work: Promise<unknown>): Promise<ShopProblem> => {
  const error = await work.then(() => undefined, (thrown: unknown) => thrown);
  if (!(error instanceof ShopProblem)) throw error as Error;
  return error;
};

describe('the client library', () => {
  let plantId = 0;
  beforeAll(async () => {
    ({ id: plantId } = await createPlant({ quantity: 1_000 }));
  });

  it('creates, changes and deletes a plant with an image', async () => {
    const { data: plant, response } = await ours.POST('/plant', { body: { name: fresh('fern'), photoUrls: [], status: 'available' } });
    const path = { plantId: plant.id };
    await ours.POST('/plant/{plantId}', { params: { path }, body: { status: 'sold' } });
    const png = new Blob([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(2_000, 7)], { type: 'image/png' });
    const { data: uploaded } = await ours.POST('/plant/{plantId}/uploadImage', { params: { path }, body: { additionalMetadata: 'a fern', file: png } });
    expect(uploaded.message).toContain('a fern');
    const { data: read } = await shopOf().GET('/plant/{plantId}', { params: { path } });
    expect(read).toMatchObject({ name: plant.name, status: 'sold' });
    const imageId = read.photoUrls[0]?.split('/').at(-1) ?? '';
    const { data: image } = await ours.GET('/images/{imageId}', { params: { path: { imageId } }, parseAs: 'blob' });
    expect(image.size).toBe(2_008);
    const stale = await problemOf(ours.DELETE('/plant/{plantId}', { params: { path }, headers: { 'if-match': response.headers.get('etag') ?? '' } }));
    expect(stale.code).toBe('precondition-failed');
    expect((await ours.DELETE('/plant/{plantId}', { params: { path } })).data.type).toBe('SUCCESS');
  });

  it('throws problems with their code, field errors and members', async () => {
    const { id } = await createPlant({ quantity: 3 });
    const short = await problemOf(ours.POST('/store/order', { body: { plantId: id, quantity: 5 } }));
    expect(short.is('insufficient-stock') && short.members.available).toBe(3);
    expect(short).toMatchObject({ status: 409, outcome: 'refused', requestId: expect.any(String) });
    const lines = [{ plantId: id, quantity: 2 }, { plantId: id, quantity: 2 }];
    const basket = await problemOf(ours.baskets.place({ lines }));
    expect(basket.is('insufficient-stock') && basket.members.lines).toEqual(lines.map((_, n) => ({ pointer: `/lines/${n}`, plantId: id, available: 3 })));
    const externalId = fresh('cart');
    const { data: known } = await ours.baskets.place({ lines: [{ plantId }], externalId });
    const taken = await problemOf(ours.baskets.place({ lines: [{ plantId }], externalId }));
    expect(taken.is('external-id-exists') && taken.members.basketId).toBe(known.id);
    const { data: order } = await ours.POST('/store/order', { body: { plantId: id } });
    const pending = await problemOf(ours.DELETE('/plant/{plantId}', { params: { path: { plantId: id } } }));
    expect(pending.is('plant-has-pending-orders') && pending.members.orders).toEqual([order.id]);
    const invalid = await problemOf(ours.POST('/store/order', { body: { plantId: id, quantity: 0 } }));
    expect(invalid.errors).toEqual([{ pointer: '/quantity', detail: expect.any(String) }]);
    const refused = await problemOf(shopOf({ apiKey: 'wrong' }).GET('/store/inventory'));
    expect(refused.code).toBe('credential-refused' satisfies ProblemCode);
  });

  it.each(['a session', 'client credentials', 'an access token', 'a wrong password'] as const)('authenticates with %s', async (kind) => {
    const customer = await newCustomer();
    const session = { username: customer.username, password: customer.password };
    const credentials = {
      'a session': session,
      'client credentials': { clientId: 'plant-admin', clientSecret: 'plant-secret' },
      'an access token': { token: async () => customer.bearer },
      'a wrong password': { ...session, password: 'wrong' },
    } satisfies Record<typeof kind, Credential>;
    const placed = shopOf(credentials[kind]).POST('/store/order', { body: { plantId } });
    if (kind === 'a wrong password') expect((await problemOf(placed)).code).toBe('login-failed');
    else expect((await placed).data.status).toBe('placed');
  });

  it('logs in again when the session has ended, once for all concurrent calls', async () => {
    const { username, password } = await newCustomer();
    const shop = shopOf({ username, password });
    await shop.GET('/store/order');
    const before = await shop.GET('/user/{username}/sessions', { params: { path: { username } } });
    await shop.DELETE('/user/{username}/sessions', { params: { path: { username } } });
    await Promise.all(Array.from({ length: 10 }, () => shop.GET('/store/order')));
    const { data: sessions } = await shop.GET('/user/{username}/sessions', { params: { path: { username } } });
    expect(sessions).toHaveLength(1);
    expect(before.data.map(({ id }) => id)).not.toContain(sessions[0]?.id);
  });

  it('iterates over all pages of a list', async () => {
    const { username, password } = await newCustomer();
    const shop = shopOf({ username, password });
    const placed: number[] = [];
    for (let count = 0; count < 7; count += 1) placed.unshift((await shop.POST('/store/order', { body: { plantId } })).data.id);
    const listed: number[] = [];
    for await (const { id } of shop.list('/store/order', { limit: 3 })) listed.push(id);
    expect(listed).toEqual(placed);
    const all: number[] = [];
    for await (const order of ours.list('/store/order', { owner: username, limit: 2 })) all.push(order.id);
    expect(all).toEqual(placed);
  });

  it('reports the outcome `not-done` when the shop is unreachable', async () => {
    const network = await startProxy({ host: '127.0.0.1', port: Number(new URL(gatewayUrl()).port) });
    await network.stop();
    const error: unknown = await createShop({ url: `http://127.0.0.1:${network.port}`, credential: { apiKey: 'special-key' }, deadlineMs: 500 }).POST('/store/order', { body: { plantId } }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ShopError);
    expect(error).toMatchObject({ kind: 'unreachable', outcome: 'not-done', idempotencyKey: expect.any(String) });
  });
});
