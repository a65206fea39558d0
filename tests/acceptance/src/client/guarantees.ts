import { setTimeout as sleep } from 'node:timers/promises';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { gatewayUrl, ok, send, staff, until } from '../shop.js';
import { streamUrl } from '../stream.js';

// The two promises of the client library, as functions that say how they were broken: a test holds the library to them, and another one
// holds libraries with bugs to them.

export type Library = typeof import('@plant-shop/client');

const nothing = async (): Promise<void> => undefined;
const credential = { apiKey: 'special-key' };
const networkTo = (url: string): Promise<TestProxy> => startProxy({ host: '127.0.0.1', port: Number(new URL(url).port) });

/**
 * Places orders through a network that loses answers, and breaks. Each call ends in an order, or in an error that says whether to ask
 * again; every order exists once.
 *
 * @param meanwhile what else happens, while orders are placed
 * @returns what was wrong
 */
export async function placeThroughFaults({ createShop, ShopError }: Library, plantId: number, count: number, meanwhile: () => Promise<void> = nothing): Promise<string[]> {
  const network = await networkTo(gatewayUrl());
  const shop = createShop({ url: `http://127.0.0.1:${network.port}`, credential, deadlineMs: 60_000 });
  const wrong: string[] = [];
  const ids: number[] = [];
  let isOver = false;
  const place = async (key?: string): Promise<void> => {
    try {
      const { data } = await shop.POST('/store/order', { body: { plantId }, ...(key !== undefined && { idempotencyKey: key }) });
      ids.push(data.id);
    } catch (error) {
      if (!(error instanceof ShopError) || error.outcome === 'refused') wrong.push(String(error));
      // Nothing happened: this is another order. Otherwise the key makes it the same one.
      else if (!isOver) await place(error.outcome === 'unknown' ? error.idempotencyKey : undefined);
    }
  };
  const breaking = (async () => {
    // From the first call on, also where all of them take less than a second.
    while (!isOver) {
      // What is asked now is done, and nobody is told.
      const deaf = setInterval(() => network.deafen(), 1);
      await sleep(200);
      clearInterval(deaf);
      await network.cut();
      await network.restore();
      await sleep(400);
    }
  })();
  let left = count;
  const work = async (): Promise<void> => {
    while (left-- > 0) await place();
  };
  try {
    await Promise.all([...Array.from({ length: 8 }, work), meanwhile()]);
  } finally {
    isOver = true;
    await breaking;
    await network.stop();
  }
  const placed = (await ok(send<{ id: number }[]>('GET', `/v3/store/order?owner=*&plantId=${plantId}`, { as: staff }))).map(({ id }) => id);
  if (new Set(ids).size !== count) wrong.push(`${count} orders were wanted, and ${new Set(ids).size} answered`);
  const unknown = placed.filter((id) => !ids.includes(id));
  if (unknown.length > 0) wrong.push(`placed, and told to nobody: ${unknown.join(', ')}`);
  const missing = ids.filter((id) => !placed.includes(id));
  if (missing.length > 0) wrong.push(`answered, and not there: ${missing.join(', ')}`);
  return wrong;
}

/**
 * Follows events with a consumer that is killed again and again in the middle of its work, and resumed from the cursor that the library
 * kept for it, over a network that breaks. Every event is handled once, in order per order.
 *
 * @param meanwhile what else happens, while orders move
 * @param limitMs how long the last events may take
 * @returns what was wrong
 */
export async function followThroughKills({ createShop }: Library, plantId: number, count: number, { meanwhile = nothing, limitMs = 60_000 }: { meanwhile?: () => Promise<void>; limitMs?: number } = {}): Promise<string[]> {
  const network = await networkTo(streamUrl());
  const shop = createShop({ url: gatewayUrl(), streamUrl: `http://127.0.0.1:${network.port}`, credential });
  const handled = new Map<number, string[]>();
  const wrong: string[] = [];
  let cursor = 'latest';
  let events = shop.events({ cursor, plantId });
  await events.opened();
  let isOver = false;
  const consuming = (async () => {
    for (let life = 1; !isOver; life += 1) {
      let given = 0;
      for await (const event of events) {
        // It dies while it works on the event, of which nothing remains.
        if ((given += 1) === 3) break;
        if (event.event === 'stream.gap') wrong.push(`a gap: ${event.data.reason}`);
        else handled.set(event.data.orderId, [...(handled.get(event.data.orderId) ?? []), event.data.newStatus]);
      }
      cursor = events.cursor;
      if (life % 4 === 0) {
        await network.cut();
        await network.restore();
      }
      events = shop.events({ cursor, plantId });
    }
    await events.close();
  })();
  try {
    const ids: number[] = [];
    const placing = async (): Promise<void> => {
      for (let turn = 0; turn < count; turn += 1) ids.push((await shop.POST('/store/order', { body: { plantId } })).data.id);
    };
    await Promise.all([placing(), meanwhile()]);
    const isDone = (): boolean => ids.every((id) => handled.get(id)?.at(-1) === 'delivered');
    await until(async () => isDone(), limitMs).catch(() => undefined);
    for (const id of ids) {
      const moves = handled.get(id)?.join(', ') ?? 'nothing';
      if (moves !== 'approved, delivered') wrong.push(`order ${id}: ${moves}`);
    }
  } finally {
    isOver = true;
    await events.close();
    await consuming;
    await network.stop();
  }
  return wrong;
}
