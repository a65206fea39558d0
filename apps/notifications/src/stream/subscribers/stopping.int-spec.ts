import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { startService } from '@plant-shop/service-testing/service';
import { testSettings } from '../../notifications.spec.fixture.js';
import { startNotifications } from '../../notifications.module.js';
import { Replica, Shop, updates } from '../stream.spec.fixture.js';

describe('a stopping replica of the stream', () => {
  let shop: Shop;
  let replica: Replica;
  beforeAll(async () => {
    shop = await Shop.open();
    replica = await shop.start();
  });
  afterAll(() => shop.close());

  async function ask(agent: Agent, query: string, accept: string): Promise<{ answer: IncomingMessage; reused: boolean; body: Promise<string> }> {
    const asked = request({ port: replica.port, path: `${updates}?api_key=key${query}`, headers: { accept }, agent }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const body = (async () => {
      let text = '';
      for await (const part of answer.setEncoding('utf8')) text += String(part);
      return text;
    })();
    return { answer, reused: asked.reusedSocket, body };
  }

  const keeping = (): Agent => new Agent({ keepAlive: true, maxSockets: 1 });

  it('serves pages and event streams on open connections, and refuses WebSockets, which use new ones (slow)', async () => {
    const [pages, waiting, events] = [keeping(), keeping(), keeping()];
    for (const agent of [pages, waiting, events]) {
      const first = await ask(agent, '', 'application/json');
      await first.body;
      expect(first.answer.headers.connection).toBe('keep-alive');
    }
    const poll = ask(waiting, '&cursor=latest&wait=20', 'application/json');
    await sleep(200);

    const begun = performance.now();
    const stopped = replica.stop();
    const woken = await poll;
    expect([woken.answer.statusCode, woken.answer.headers.connection]).toEqual([200, 'close']);
    expect(performance.now() - begun).toBeLessThan(1_500);

    await sleep(500);
    // Before the last open connection ends: the server stops listening with it.
    await expect(replica.opened()).rejects.toThrow('503');
    const page = await ask(pages, '&cursor=latest&wait=20', 'application/json');
    expect([page.reused, page.answer.statusCode, page.answer.headers.connection]).toEqual([true, 200, 'close']);
    const stream = await ask(events, '', 'text/event-stream');
    expect([stream.reused, stream.answer.statusCode]).toEqual([true, 200]);
    expect(await stream.body).toContain('event: close\ndata: {"code":4200,');
    await stopped;
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  it('closes the connection of an event stream with the stream, so that no client sends another request on it', async () => {
    const another = await shop.start();
    replica = another;
    shop.identity.addCredential('leaver', { userId: '00000000-0000-4000-8000-0000000000ee' });
    const asked = request({ port: another.port, path: `${updates}?api_key=leaver`, headers: { accept: 'text/event-stream' } }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    expect(answer.headers.connection).toBe('close');
    asked.destroy();
  });

  it.each(['both', 'stream'])('drains its WebSockets (4200) when Nest closes the app, with the role `%s`', async (NOTIFICATIONS_ROLE) => {
    let port = 0;
    const service = await startService('notifications', shop.nats.url, async (one) => {
      // Disables the drain that runs before the app is closed.
      jest.spyOn(one, 'beforeClose').mockReturnValue();
      port = (await startNotifications(one, testSettings(shop.database.serviceUrl, { NOTIFICATIONS_ROLE }))).streamPort ?? 0;
    });
    const [client] = await new Replica(service, port).openedMany(1, 'api_key=key');
    await service.stop();
    expect(await client?.closed).toMatchObject({ code: 4200 });
  });
});
