import { setTimeout as sleep } from 'node:timers/promises';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { gatewayUrl, ok, send, staff, until } from '../shop.js';
import { streamUrl } from '../stream.js';

// The two guarantees of the client library, as functions that return violations. One test applies them to the library, another to
// copies with seeded bugs.

export type Library = typeof import('@plant-shop/client');

const nothing = async (): Promise<void> => undefined;
const credential = { apiKey: 'special-key' };
const networkTo = (url: string): Promise<TestProxy> => startProxy({ host: '127.0.0.1', port: Number(new URL(url).port) });

/**
 * Places orders over a network that loses answers and breaks. Each call must end in an order, or in an error that says whether to
 * retry, and every order must exist once.
 *
 * @param meanwhile runs while orders are placed
 * @returns the violations
 */
export async function placeThroughFaults({ createShop, ShopError }: Library, plantId: number, count: number, meanwhile: () => Promise<void> = nothing): Promise<string[]> {
  const network = await networkTo(gatewayUrl());
  const shop = createShop({ url: `http://127.0.0.1:${network.port}`, credential, deadlineMs: 60_000 });
  const violations: string[] = [];
  const ids: number[] = [];
  let isOver = false;
  const place = async (key?: string): Promise<void> => {
    try {
      const { data } = await shop.POST('/store/order', { body: { plantId }, ...(key !== undefined && { idempotencyKey: key }) });
      ids.push(data.id);
    } catch (error) {
      if (!(error instanceof ShopError) || error.outcome === 'refused') violations.push(String(error));
      // After `not-done` the next call may be a new order; after `unknown` the key makes it the same one.
      else if (!isOver) await place(error.outcome === 'unknown' ? error.idempotencyKey : undefined);
    }
  };
  const breaking = (async () => {
    // Starts with the first call, since all of them may take less than a second.
    while (!isOver) {
      // Requests are executed, and their answers are lost.
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
  if (new Set(ids).size !== count) violations.push(`${count} orders were wanted, but ${new Set(ids).size} answered`);
  const unknown = placed.filter((id) => !ids.includes(id));
  if (unknown.length > 0) violations.push(`placed but never answered: ${unknown.join(', ')}`);
  const missing = ids.filter((id) => !placed.includes(id));
  if (missing.length > 0) violations.push(`answered but missing: ${missing.join(', ')}`);
  return violations;
}

/**
 * Follows events over a network that breaks, with a consumer that is repeatedly killed while it handles an event and resumes from the
 * library's cursor. Every event must be handled once, and those of each order in sequence.
 *
 * @param meanwhile runs while orders are placed
 * @param limitMs how long the last events may take
 * @returns the violations
 */
export async function followThroughKills({ createShop }: Library, plantId: number, count: number, { meanwhile = nothing, limitMs = 60_000 }: { meanwhile?: () => Promise<void>; limitMs?: number } = {}): Promise<string[]> {
  const network = await networkTo(streamUrl());
  const shop = createShop({ url: gatewayUrl(), streamUrl: `http://127.0.0.1:${network.port}`, credential });
  const handled = new Map<number, string[]>();
  const violations: string[] = [];
  let cursor = 'latest';
  let events = shop.events({ cursor, plantId });
  await events.opened();
  let isOver = false;
  const consuming = (async () => {
    for (let life = 1; !isOver; life += 1) {
      let given = 0;
      for await (const event of events) {
        // The consumer dies while it handles this event, without a trace of it.
        if ((given += 1) === 3) break;
        if (event.event === 'stream.gap') violations.push(`a gap: ${event.data.reason}`);
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
      const statuses = handled.get(id)?.join(', ') ?? 'nothing';
      if (statuses !== 'approved, delivered') violations.push(`order ${id}: ${statuses}`);
    }
  } finally {
    isOver = true;
    await events.close();
    await consuming;
    await network.stop();
  }
  return violations;
}
