import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { catalog, type ImportLinePreview, type ImportLineResult, type Plant } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { store } from '@plant-shop/contracts/store';
import { theService, unavailable } from '@plant-shop/platform/errors';
import { fake } from '@plant-shop/service-testing/service';
import { until } from '@plant-shop/testing/until';
import { type Shop, startShop } from '../gateway.spec.fixture.js';
import { maxLineBytes } from './imports.js';

const plant = (id: number): Plant => ({ id, name: 'Fern', photoUrls: [], tags: [], status: 'available', updatedAt: '2026-01-01T00:00:00.000Z' });

interface Result {
  readonly line?: number;
  readonly id?: number;
  readonly result?: string;
  readonly lines?: number;
  readonly complete?: boolean;
  readonly problem?: { readonly code: string; readonly status: number; readonly detail: string };
}

describe('import and export', () => {
  let shop: Shop;
  const batches: number[] = [];
  const stocks: unknown[] = [];
  let stockFails = 0;
  let fails = 0;
  let blocked: Promise<unknown> | undefined;

  const importBatch = async ({ lines }: { readonly lines: readonly string[] }): Promise<ImportLineResult[]> => {
    batches.push(lines.length);
    await blocked;
    if (fails-- > 0) throw unavailable(theService('catalog'));
    return lines.map((line) => {
      if (!line.startsWith('{')) return { refused: { code: 'malformed-json', detail: 'The line is not JSON.' } };
      const { id } = JSON.parse(line) as { id: number };
      return { id, result: id >= 700 ? 'unchanged' : 'created' };
    });
  };

  const start = (options = {}): Promise<Shop> =>
    startShop(
      {
        catalog: [
          fake(catalog.importPlants, importBatch),
          fake(catalog.previewImport, ({ lines }) =>
            lines.filter((line) => !line.includes('"after the end"')).map((line): ImportLinePreview => {
              const { id, name = 'Fern', externalId } = JSON.parse(line) as { id?: number; name?: string; externalId?: string };
              const after = { name, photoUrls: [], tags: [], status: 'available' as const, ...(externalId !== undefined && { externalId }) };
              if (name === 'again') return { result: 'unchanged', before: after, after };
              return id !== undefined && id >= 700 ? { id, result: 'unchanged', before: after, after } : { ...(id !== undefined && { id }), result: 'created', after };
            }),
          ),
          fake(catalog.beginExport, () => ({ snapshot: '00000003-00000001-1' })),
          fake(catalog.readExport, ({ after }) => {
            if (after === 3) throw unavailable(theService('catalog'));
            return after > 4 ? { plants: [] } : { plants: [plant(after + 1), plant(after + 2)], next: after + 2 };
          }),
          fake(catalog.endExport, ({ snapshot }) => ({ snapshot })),
        ],
        store: [
          fake(store.getStock, ({ plantId }) => {
            if (plantId === 706) throw new DomainError('plant-not-found', 'There is no plant 706.');
            return { plantId, free: plantId === 705 ? 5 : 9, reserved: 0, sold: 0 };
          }),
          fake(store.setStock, ({ plantId, stock: { free } }) => {
            if (stockFails-- > 0) throw unavailable(theService('store'));
            if (plantId === 704) throw new DomainError('plant-not-found', 'There is no plant 704.');
            stocks.push([plantId, free]);
            return { plantId, free, reserved: 0, sold: 0 };
          }),
        ],
      },
      options,
    );

  /** Waits until the gateway has loaded the revocation log and can check credentials. */
  const withKey = async (one: Shop): Promise<Shop> => {
    one.identity.addCredential('key', { kind: 'apiKey' });
    await until(async () => (await one.get('/v3/store/inventory', { api_key: 'made-up' })).status !== 503, 15_000);
    return one;
  };

  beforeAll(async () => {
    shop = await withKey(await start());
  });
  beforeEach(() => {
    shop.identity.addCredential('key', { kind: 'apiKey' });
    batches.length = 0;
    fails = 0;
    blocked = undefined;
  });
  afterAll(() => shop.stop());

  const begin = (at = shop): ClientRequest =>
    requestHttp(`${at.gateway.url}/v3/plant/import`, { method: 'POST', headers: { api_key: 'key', 'content-type': 'application/x-ndjson' } });
  const linesOf = (response: IncomingMessage): AsyncIterableIterator<string> => createInterface({ input: response })[Symbol.asyncIterator]();

  async function importing(...pieces: (string | Buffer)[]): Promise<Result[]> {
    const sent = begin();
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    for (const piece of pieces) {
      sent.write(piece);
      await sleep(5);
    }
    sent.end();
    const [response] = await answered;
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-type']).toBe('application/x-ndjson');
    const all: Result[] = [];
    for await (const line of linesOf(response)) all.push(JSON.parse(line) as Result);
    return all;
  }

  it('answers each line separately; a refused line does not stop the import', async () => {
    const results = await importing('{"id":1}\nno JSON\n', Buffer.from([0x22, 0xff, 0x22, 0x0a]), `"${'x'.repeat(maxLineBytes)}"\n\n{"id":`, '6}\n');
    expect(results).toEqual([
      { line: 1, id: 1, result: 'created' },
      { line: 2, result: 'refused', problem: expect.objectContaining({ code: 'malformed-json', status: 400 }) },
      { line: 3, result: 'refused', problem: expect.objectContaining({ code: 'malformed-json', detail: 'The line is not UTF-8.' }) },
      { line: 4, result: 'refused', problem: expect.objectContaining({ code: 'payload-too-large', status: 413 }) },
      { line: 6, id: 6, result: 'created' },
      { lines: 6, created: 2, updated: 0, unchanged: 0, refused: 3, complete: true },
    ]);
  });

  it('sets the stock of existing plants that have a quantity', async () => {
    stockFails = 2;
    const results = await importing('{"id":1,"quantity":5}\n{"id":701,"quantity":0}\n{"id":702,"quantity":null}\n{"id":703,"quantity":1}\n{"id":704,"quantity":1}\n{"id":703,"quantity":2}\n{"id":705,"quantity":5}\n');
    expect(results.slice(0, 7).map(({ id, result, problem }) => [id, result, problem?.code])).toEqual([
      [1, 'created', undefined],
      [701, 'updated', undefined],
      [702, 'unchanged', undefined],
      [703, 'unchanged', undefined],
      [704, 'refused', 'plant-not-found'],
      [703, 'updated', undefined],
      [705, 'unchanged', undefined],
    ]);
    expect(stocks).toHaveLength(2);
    expect(stocks).toEqual(expect.arrayContaining([[701, 0], [703, 2]]));
  });

  const previewing = (body: string): Promise<Response> => fetch(`${shop.gateway.url}/v3/plant/import/preview`, { method: 'POST', headers: { api_key: 'key', 'content-type': 'application/x-ndjson' }, body });
  const previewed = async (body: string): Promise<unknown[]> => (await (await previewing(body)).text()).trimEnd().split('\n').map((line) => JSON.parse(line) as unknown);

  it('is previewed with the stock that it would set, and sets none', async () => {
    stocks.length = 0;
    const [fern, plain] = [{ after: { name: 'Fern', photoUrls: [], tags: [], status: 'available' } }, { before: expect.any(Object), after: expect.any(Object) }];
    expect(await previewed('{"id":1,"quantity":5}\n{"name":"Fern"}\n\n{"id":701,"quantity":0}\n{"id":702}\n{"id":705,"quantity":5}\n{"id":8,"colour":"green"}\n{"id":706,"quantity":1}\n{"id":703,"quantity":1}\n{"id":703,"quantity":2}\n')).toEqual([
      { line: 1, id: 1, result: 'created', ...fern, free: { after: 5 } },
      { line: 2, result: 'created', ...fern },
      { line: 4, id: 701, result: 'updated', ...plain, free: { before: 9, after: 0 } },
      { line: 5, id: 702, result: 'unchanged', ...plain },
      { line: 6, id: 705, result: 'unchanged', ...plain, free: { before: 5, after: 5 } },
      { line: 7, result: 'refused', problem: expect.objectContaining({ code: 'invalid-input', errors: [expect.objectContaining({ pointer: '/colour' })] }) },
      { line: 8, id: 706, result: 'refused', problem: expect.objectContaining({ code: 'plant-not-found' }) },
      { line: 9, id: 703, result: 'unchanged', ...plain },
      { line: 10, id: 703, result: 'updated', ...plain, free: { before: 9, after: 2 } },
      { lines: 10, created: 2, updated: 2, unchanged: 3, refused: 2, complete: true },
    ]);
    expect([stocks, batches]).toEqual([[], []]);
    // A plant without an id, that an earlier line would create.
    const named = { before: expect.any(Object), after: expect.any(Object) };
    expect(await previewed('{"externalId":"E","quantity":5}\n{"externalId":"E","name":"again","quantity":6}\n')).toEqual([
      { line: 1, result: 'created', after: expect.any(Object), free: { after: 5 } },
      { line: 2, result: 'updated', ...named, free: { before: 5, after: 6 } },
      { lines: 2, created: 1, updated: 1, unchanged: 0, refused: 0, complete: true },
    ]);
  });

  it('is previewed by 256 lines, and ends before plants that are too large (slow)', async () => {
    const lines = Array.from({ length: 257 }, (_, n) => `{"id":${n + 1}}\n`);
    expect((await previewed(lines.slice(1).join(''))).at(-1)).toMatchObject({ created: 256, complete: true });
    const refused = await previewing(lines.join(''));
    expect([refused.status, await refused.json()]).toEqual([413, expect.objectContaining({ code: 'payload-too-large' })]);
    for (const endless of ['\n', 'x']) expect((await previewing(endless.repeat(1024 * 1024))).status).toBe(413);
    expect((await previewing('{"id":1}\n{"id":2,"na')).status).toBe(400);
    expect((await previewed('{"id":1}\n{"id":2,"name":"after the end"}\n')).at(-1)).toMatchObject({ lines: 1, created: 1, complete: false, problem: { code: 'payload-too-large' } });
    expect(await previewed('')).toEqual([{ lines: 0, created: 0, updated: 0, unchanged: 0, refused: 0, complete: true }]);
  });

  it('refuses lines that a body may not contain either, and sends the others', async () => {
    const members = Array.from({ length: 40_000 }, (_, n) => `"${n}":1`).join(',');
    const lines = ['{"id":1}', `{"id":2,${members}}`, '{"id":3,"__proto__":{}}', '{"id":4,"name":"\\u0000"}', `{"id":5,"tags":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, '{"id":6}', `{"id":7,${members}}`, '{"id":8,"colour":"green"}'];
    const results = await importing(lines.join('\n'));
    const refused = (line: number, pointer: string): object => ({ line, result: 'refused', problem: { code: 'invalid-input', errors: [{ pointer }] } });
    expect(results).toMatchObject([
      { line: 1, result: 'created' },
      refused(2, ''),
      refused(3, ''),
      refused(4, '/name'),
      refused(5, `/tags${'/0'.repeat(15)}`),
      { line: 6, result: 'created' },
      refused(7, ''),
      refused(8, '/colour'),
      { lines: 8, created: 2, refused: 6, complete: true },
    ]);
  });

  it('reports how many lines were processed if the body ends within a line', async () => {
    const results = await importing('{"id":1}\n{"id":2}\n{"id":3,"na');
    expect(results.at(-1)).toMatchObject({ lines: 2, created: 2, complete: false, problem: { code: 'malformed-request' } });
    expect(results.at(-1)?.problem?.detail).toContain('2 lines were processed');
    // Only the last newline is missing.
    expect((await importing('{"id":1}\n{"id":2}')).at(-1)).toMatchObject({ lines: 2, complete: true });
    expect(await importing('')).toEqual([{ lines: 0, created: 0, updated: 0, unchanged: 0, refused: 0, complete: true }]);
  });

  it('answers lines while more arrive', async () => {
    const sent = begin();
    sent.write('{"id":1}\n');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const results = linesOf(response);
    expect(JSON.parse((await results.next()).value as string)).toMatchObject({ line: 1 });
    sent.end('{"id":2}\n');
    expect(JSON.parse((await results.next()).value as string)).toMatchObject({ line: 2 });
    response.destroy();
  });

  it('sends lines to the catalog in batches', async () => {
    await importing(Array.from({ length: 3_000 }, (_, n) => `{"id":${n + 1}}\n`).join(''));
    expect(Math.max(...batches)).toBe(256);
    expect(batches.reduce((sum, one) => sum + one, 0)).toBe(3_000);
  });

  it('retries a batch while the catalog is unavailable (slow)', async () => {
    fails = 2;
    expect((await importing('{"id":1}\n')).at(-1)).toMatchObject({ created: 1, complete: true });
    expect(batches).toEqual([1, 1, 1]);
  });

  it('stops reading lines while the client does not read results (slow)', async () => {
    const sent = begin();
    const chunk = Array.from({ length: 1_000 }, (_, n) => `{"id":${n + 1}}\n`).join('');
    sent.on('response', (response) => response.pause());
    let isBlocked = false;
    for (let n = 0; n < 5_000 && !isBlocked; n++) {
      if (!sent.write(chunk)) isBlocked = await Promise.race([once(sent, 'drain').then(() => false), sleep(1_500).then(() => true)]);
    }
    expect(isBlocked).toBe(true);
    sent.destroy();
  });

  it('stops when the credential is revoked (slow)', async () => {
    const sent = begin();
    sent.write('{"id":1}\n');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const results = linesOf(response);
    await results.next();
    shop.identity.revoke('apiKey', shop.identity.idOf('key'));
    await sleep(1_500);
    sent.write('{"id":2}\n');
    expect(JSON.parse((await results.next()).value as string)).toMatchObject({ lines: 1, complete: false, problem: { code: 'credential-refused' } });
    sent.destroy();
  });

  it('ends with its totals before the request times out (slow)', async () => {
    const quick = await withKey(await start({ requestTimeoutMs: 1_000 }));
    const sent = begin(quick);
    sent.on('error', () => undefined);
    sent.write('{"id":1}\n');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const all: unknown[] = [];
    for await (const line of linesOf(response)) all.push(JSON.parse(line));
    expect(all.at(-1)).toMatchObject({ lines: 1, complete: false, problem: { code: 'request-timeout' } });
    sent.destroy();
    await quick.stop();
  });

  it('ends with its totals when the gateway stops (slow)', async () => {
    const replaced = await withKey(await start());
    const sent = begin(replaced);
    sent.on('error', () => undefined);
    sent.write('{"id":1}\n');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const stopped = replaced.stop();
    const all: unknown[] = [];
    for await (const line of linesOf(response)) all.push(JSON.parse(line));
    expect(all.at(-1)).toMatchObject({ lines: 1, created: 1, complete: false, problem: { code: 'unavailable' } });
    sent.destroy();
    await stopped;
  });

  it('accepts only application/x-ndjson', async () => {
    const refused = await fetch(`${shop.gateway.url}/v3/plant/import`, { method: 'POST', headers: { api_key: 'key', 'content-type': 'application/json' }, body: '{}' });
    expect(refused.status).toBe(415);
    expect(await refused.text()).toContain('application/x-ndjson');
  });

  it('exports one plant per line', async () => {
    const response = await shop.get('/v3/plant/export', { api_key: 'key' });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const text = await response.text();
    expect(text.trimEnd().split('\n').map((line) => JSON.parse(line) as Plant)).toEqual([1, 2, 3, 4, 5, 6].map(plant));
    expect(shop.calls.at(-1)?.operation).toBe('catalog.endExport');
  });

  it('exports of one client that wait for another to end do not hold it up, while another client asks (slow)', async () => {
    const [arrived, ended, answered] = [Promise.withResolvers<string>(), Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    let begun = 0;
    let asked = 0;
    const one = await withKey(
      await startShop({
        catalog: [
          fake(catalog.beginExport, async () => {
            await (begun++ > 0 ? ended : arrived).promise;
            return { snapshot: '00000003-00000001-1' };
          }),
          fake(catalog.readExport, ({ after }) => (after > 0 ? { plants: [] } : { plants: [plant(1)], next: 1 })),
          fake(catalog.endExport, ({ snapshot }) => {
            ended.resolve('');
            return { snapshot };
          }),
        ],
        store: [
          fake(store.readInventory, async () => {
            if (asked++ > 0) await answered.promise;
            return {};
          }),
        ],
      }),
    );
    try {
      // The gateway knows whose key it is.
      await one.get('/v3/store/inventory', { api_key: 'key' });
      one.identity.addCredential('other', { kind: 'apiKey', userId: '00000000-0000-4000-8000-0000000000ff' });
      const other = one.get('/v3/store/inventory', { api_key: 'other' });
      await until(() => asked === 2);
      const exports = Array.from({ length: 20 }, async () => (await one.get('/v3/plant/export', { api_key: 'key' })).text());
      await until(async () => (await one.service.metrics.getSingleMetric('http_requests_in_flight')?.get())?.values[0]?.value === 21);
      arrived.resolve('');
      for (const text of await Promise.all(exports)) expect(text).toBe(`${JSON.stringify(plant(1))}\n`);
      answered.resolve('');
      expect((await other).status).toBe(200);
    } finally {
      for (const { resolve } of [arrived, ended, answered]) resolve('');
      await one.stop();
    }
  });

  it('aborts an export that cannot be completed, instead of ending it normally (slow)', async () => {
    await shop.stopFake('catalog');
    await shop.replaceFake('catalog', [
      fake(catalog.beginExport, () => ({ snapshot: '00000003-00000001-1' })),
      fake(catalog.readExport, ({ after }) => {
        if (after > 0) throw unavailable(theService('catalog'));
        return { plants: [plant(1)], next: 1 };
      }),
      fake(catalog.endExport, ({ snapshot }) => ({ snapshot })),
    ]);
    const response = await shop.get('/v3/plant/export', { api_key: 'key' });
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    await shop.stopFake('catalog');
    expect((await shop.get('/v3/plant/export', { api_key: 'key' })).status).toBe(503);
  });
});
