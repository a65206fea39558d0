import { ResumingSocket } from '@plant-shop/testing/stream';
import { now, pause } from './clock.js';
import type { EventType, Follower } from './history.js';

const openLimitMs = 2_000;

/** A stream client that follows events at the replicas in turn. */
export class FollowingSocket extends ResumingSocket implements Follower {
  /** @param first index of the first replica to connect to */
  constructor(
    readonly name: string,
    urls: readonly string[],
    first: number,
    { apiKey, cursor = 'latest' }: { readonly apiKey: string; readonly cursor?: string },
    readonly types?: readonly EventType[],
  ) {
    let turn = first;
    super({ nextUrl: () => urls[turn++ % urls.length] ?? '', apiKey, cursor, types, openLimitMs });
  }

  /** Follows all events from now on. */
  static async open(name: string, urls: readonly string[], first: number, types?: readonly EventType[]): Promise<FollowingSocket> {
    const cursor = await latest((urls[0] ?? '').replace(/^ws/, 'http'));
    return new FollowingSocket(name, urls, first, { apiKey: 'special-key', cursor }, types);
  }
}

/** The current cursor. Retries: a replica that has just started refuses credentials until it has the revocations from identity. */
async function latest(url: string): Promise<string> {
  for (const end = now() + 30_000; ; ) {
    const page = await fetch(`${url}/v1/orders/updates?cursor=latest`, { headers: { api_key: 'special-key', accept: 'application/json' } });
    if (page.ok) return ((await page.json()) as { cursor: string }).cursor;
    if (now() > end) throw new Error(`the stream answered ${page.status}: ${await page.text()}`);
    await pause(100);
  }
}
