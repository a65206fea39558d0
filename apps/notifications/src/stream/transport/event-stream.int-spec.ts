import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import { type Replica, Shop, updates } from '../stream.spec.fixture.js';

interface Message {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** A minimal client of Server-Sent Events. */
class SseClient {
  text = '';
  isEnded = false;

  private constructor(
    readonly request: ClientRequest,
    readonly response: IncomingMessage,
  ) {
    response.setEncoding('utf8');
    response.on('data', (piece: string) => (this.text += piece));
    response.on('end', () => (this.isEnded = true));
    response.on('error', () => undefined);
  }

  static async open(replica: Replica, query = 'api_key=key', headers: Record<string, string> = {}): Promise<SseClient> {
    const path = `${updates}?${query}`;
    const asked = request({ port: replica.port, path, headers: { accept: 'text/event-stream', ...headers }, agent: false }).end();
    asked.on('error', () => undefined);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return new SseClient(asked, response);
  }

  get messages(): Message[] {
    const blocks = this.text.split('\n\n').filter((block) => /^data:/m.test(block));
    return blocks.map((block) => Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2))) as Message);
  }

  has(count: number): Promise<void> {
    return until(() => this.messages.length >= count);
  }
}

describe('the stream by Server-Sent Events', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
  });
  afterEach(() => shop.reset());
  afterAll(() => shop.close());

  it('sends the bytes of the store, and resumes after the last event that the client saw (slow)', async () => {
    const replica = await shop.start();
    const first = await SseClient.open(replica);
    expect(first.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    const events = shop.move(5);
    await first.has(5);
    expect(first.messages.map(({ data }) => data)).toEqual(events.map(({ body }) => body));
    first.request.destroy();
    await until(async () => (await replica.metric('stream_connections')) === 0);
    shop.move(2);
    // A browser reconnects to the original address, which has an older cursor.
    const again = await SseClient.open(replica, 'api_key=key&cursor=earliest', { 'last-event-id': first.messages[2]?.id ?? '' });
    await again.has(4);
    expect(again.messages.map(({ data }) => data)).toEqual(shop.feed.slice(3).map(({ body }) => body));
  });

  it('filters, and sends an idle client its cursor, so that it resumes without a gap notice after its last event has left the log (slow)', async () => {
    const replica = await shop.start({ STREAM_PING_SECONDS: '2' });
    const client = await SseClient.open(replica, 'api_key=key&plantId=8');
    const [, wanted] = shop.move([{}, { plantId: 8 }]);
    await client.has(1);
    shop.move(30);
    await shop.isLogged();
    const { cursor } = JSON.parse((await replica.ask(`${updates}?api_key=key`)).body) as { cursor: string };
    await until(() => client.text.endsWith(`\n\nid: ${cursor}\n\n`));
    expect(client.messages.map(({ data }) => data)).toEqual([wanted?.body]);
    await shop.forgetLog();
    const again = await SseClient.open(replica, 'api_key=key&plantId=8', { 'last-event-id': cursor });
    const [next] = shop.move([{ plantId: 8 }]);
    await again.has(1);
    expect(again.messages.map(({ data }) => data)).toEqual([next?.body]);
  });

  it('sends the reason of its end', async () => {
    const replica = await shop.start();
    shop.identity.addCredential('mine');
    const client = await SseClient.open(replica, 'api_key=mine');
    shop.identity.revoke('apiKey', shop.identity.idOf('mine'));
    await until(() => client.isEnded);
    expect(client.messages).toEqual([{ event: 'close', data: '{"code":4001,"reason":"credential revoked"}' }]);
    expect(await replica.closes('4001')).toBe(1);
  });
});
