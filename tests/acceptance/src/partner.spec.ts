import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { generateClient } from './generated-client.js';
import { fresh, gatewayUrl } from './shop.js';

// A partner's program, without a cast: compiling it is the test of our document's types, and running it that of its parameters and bodies.
const program = `
import { client } from './client.gen.js';
import * as shop from './sdk.gen.js';

const seen = <T>({ data, error }: { data?: T; error?: { code: string } | object }): T => {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
};

export async function run(baseUrl: string, mark: string) {
  client.setConfig({ baseUrl, auth: ({ name }) => (name === 'api_key' ? 'special-key' : undefined) });
  const add = async (name: string) => seen(await shop.createPlant({ body: { name, photoUrls: [], status: 'available', quantity: 3, metadata: { mark } } })).id;
  const [one, two] = [await add(mark), await add('Fern')];
  const found = seen(await shop.searchPlants({ query: { q: mark, status: ['available', 'pending'], metadata: { mark } } })).map(({ id }) => id);
  const states = seen(await shop.listAvailability({ query: { ids: [one, two] } })).map(({ state }) => state);
  const headers = (use: string) => ({ 'Idempotency-Key': use + mark });
  const order = seen(await shop.placeOrder({ headers: headers('order'), body: { plantId: one, metadata: { mark } } }));
  const basket = seen(await shop.placeBasket({ headers: headers('basket'), body: { lines: [{ plantId: one }, { plantId: two, quantity: 2 }] } }));
  const plant = seen(await shop.getOrder({ path: { orderId: order.id }, query: { expand: ['plant'] } })).plant?.name;
  const listed = seen(await shop.listOrders({ query: { metadata: { mark }, status: ['placed', 'approved'], limit: 10 } })).map(({ id }) => id);
  const patched = seen(await shop.patchPlant({ path: { plantId: one }, body: { metadata: { mark: null, shelf: 'B2' } } })).metadata;
  const image = seen(await shop.uploadImage({ path: { plantId: one }, body: { file: new Blob([Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)]) } }));
  const uploaded: { url: string; shown: boolean } = { url: image.imageUrl, shown: image.shown };
  const webhook = seen(await shop.createWebhook({ body: { url: 'http://127.0.0.1:9000/', newStatuses: ['approved'] } }));
  const secret: string = webhook.secret;
  await shop.deleteWebhook({ path: { webhookId: webhook.id } });
  const { error } = await shop.placeBasket({ body: { lines: [{ plantId: two, quantity: 2 }] } });
  const refused = error?.code === 'insufficient-stock' ? error.lines.map(({ pointer, available }) => ({ pointer, available })) : [];
  return { one, found, states, order: order.id, lines: basket.orders.length, plant, listed, patched, uploaded, secret, refused };
}
`;

const folder = mkdtempSync(join(tmpdir(), 'partner-'));
afterAll(() => rmSync(folder, { recursive: true }));

it("a partner's program compiles with a client generated from our document, and runs", async () => {
  const document = (await (await fetch(`${gatewayUrl()}/v3/openapi.json`)).json()) as object;
  const load = await generateClient(folder, document, program);
  const { run } = await load<{ run: (baseUrl: string, mark: string) => Promise<{ one: number; order: number }> }>('program');
  const mark = fresh('partner');
  const done = await run(`${gatewayUrl()}/v3`, mark);
  expect(done).toEqual({
    one: done.one,
    found: [done.one],
    states: ['low-stock', 'low-stock'],
    order: done.order,
    lines: 2,
    plant: mark,
    listed: [done.order],
    patched: { shelf: 'B2' },
    uploaded: { url: expect.stringContaining('/v3/images/'), shown: true },
    secret: expect.stringMatching(/^whsec_/),
    refused: [{ pointer: '/lines/0', available: 1 }],
  });
}, 120_000);
