import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { broadcasts } from '@plant-shop/contracts/broker';
import { store } from '@plant-shop/contracts/store';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { fake, startFake } from '@plant-shop/service-testing/service';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { until } from '@plant-shop/testing/until';
import { FeedNumberer } from './feed.js';
import { followForBookkeeping } from './follower.example.js';
import { FollowingService, type LoggedEvent, ThingsService } from './things.spec.fixture.js';

// Over real NATS: the feed is served by RPC and sends messages, as its owner does.

const logger = createLogger('test', 'fatal');

describe('a service that follows a feed', () => {
  let nats: TestNats;
  let things: ThingsService;
  let feedNats: Nats;
  let served: { stop: () => Promise<void> };
  let numberer: FeedNumberer;
  let books: FollowingService;
  const processes: ChildProcess[] = [];

  beforeEach(async () => {
    [nats, things] = await Promise.all([startNats(), ThingsService.open()]);
    feedNats = await Nats.connect({ url: nats.url, name: 'store' }, logger);
    served = await startFake(nats.url, 'store', [
      fake(store.feedRead, ({ follower, after, afterId, limit }) =>
        things.feed.readFor(follower, { seq: after, ...(afterId !== undefined && { id: afterId }) }, limit)),
      fake(store.startEpoch, ({ known, agreed }) => things.feed.startEpoch(known, agreed)),
    ]);
    numberer = new FeedNumberer(things.feed, feedNats, broadcasts.feed.subject, logger);
    numberer.start();
    // Only its database is used: the follower is the example, or another process.
    books = await FollowingService.open({
      read: (position, limit) => things.feed.read(position, limit),
      startEpoch: () => things.feed.head(),
    });
  });
  afterEach(async () => {
    for (const one of processes.splice(0)) await kill(one);
    await numberer.stop();
    await served.stop();
    await feedNats.close(1_000);
    await books.close();
    await things.close();
    await nats.stop();
  });

  const addEvents = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 200) {
      await things.change(...Array.from({ length: Math.min(left, 200) }, (_, n) => n + 1));
      numberer.notify();
    }
  };
  const booked = (): Promise<{ id: string; body: string }[]> =>
    books.database.query('SELECT event_id AS id, body FROM bookings ORDER BY event_id');
  const hasBooked = async (count: number): Promise<void> => {
    await until(async () => (await books.watermark()) === count);
    const numbered = await things.numbered();
    expect(await books.log()).toEqual(numbered);
    expect(await booked()).toEqual(
      numbered.map(({ id, body }: LoggedEvent) => ({ id, body })).sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  };

  describe('as in the example', () => {
    it('books each event once, even when NATS goes down and restarts empty', async () => {
      const ownNats = await Nats.connect({ url: nats.url, name: 'notifications' }, logger);
      const rpc = new RpcClient(ownNats, 'notifications', logger);
      const follower = followForBookkeeping(books.database, ownNats, rpc, logger);
      try {
        await addEvents(300);
        await hasBooked(300);
        await nats.stop();
        await addEvents(700);
        await nats.restart();
        await hasBooked(1_000);
      } finally {
        await follower.stop();
        rpc.close();
        await ownNats.close(1_000);
      }
    }, 30_000);
  });

  describe('when its process is killed', () => {
    /** Starts a follower process. @returns it, and the lines that it has printed */
    const start = (hold: 'insert' | 'commit' | 'nowhere'): { child: ChildProcess; printed: string[] } => {
      const file = fileURLToPath(new URL('../dist/follower-process.spec.fixture.js', import.meta.url));
      const child = spawn(process.execPath, [file, books.databaseUrl, nats.url, hold], { stdio: ['ignore', 'pipe', 'inherit'] });
      processes.push(child);
      const printed: string[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => void printed.push(line));
      return { child, printed };
    };
    const logged = async () => (await books.database.query('SELECT 1 FROM event_log')).length;

    it('between insert and commit: leaves nothing behind, and the next process does all of it', async () => {
      await addEvents(500);
      const { child, printed } = start('insert');
      await until(() => printed.includes('held'));
      await kill(child);
      expect([await logged(), await books.watermark(), (await booked()).length]).toEqual([0, 0, 0]);
      const next = start('nowhere');
      await hasBooked(500);
      await until(() => next.printed.length > 0);
      expect(JSON.parse(next.printed[0]!)).toMatchObject({ after: 0 });
    }, 30_000);

    it('between commit and announcement: leaves all of it in the log, once', async () => {
      await addEvents(500);
      const { child, printed } = start('commit');
      await until(() => printed.includes('held'));
      await kill(child);
      const committed = await books.watermark();
      expect(committed).toBeGreaterThan(0);
      expect([await logged(), (await booked()).length]).toEqual([committed, committed]);
      await addEvents(500);
      const next = start('nowhere');
      await hasBooked(1_000);
      await until(() => next.printed.length > 0);
      expect(JSON.parse(next.printed[0]!)).toMatchObject({ after: committed });
    }, 30_000);

    it('repeatedly, two replicas at a time: announces each event at most once, and logs all of them', async () => {
      const announced: { after: number; upTo: number }[] = [];
      const collect = ({ printed }: { printed: string[] }): void => {
        announced.push(...printed.map((line) => JSON.parse(line) as (typeof announced)[number]));
      };
      let killing = true;
      let written = 0;
      const writing = (async () => {
        for (; killing; written += 20) {
          await addEvents(20);
          // Slow enough for a follower to keep up.
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      })();
      for (let n = 0; n < 3; n++) {
        const replicas = [start('nowhere'), start('nowhere')];
        await until(() => replicas.some(({ printed }) => printed.length > 1));
        for (const { child } of replicas) await kill(child);
        replicas.forEach(collect);
      }
      killing = false;
      await writing;
      const last = start('nowhere');
      await hasBooked(written);
      collect(last);
      announced.sort((a, b) => a.after - b.after);
      // No event is announced twice, and no two announced ranges overlap.
      for (const [n, { after, upTo }] of announced.entries()) {
        expect(upTo).toBeGreaterThan(after);
        expect(after).toBeGreaterThanOrEqual(announced[n - 1]?.upTo ?? 0);
      }
    }, 60_000);
  });

  const kill = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
});
