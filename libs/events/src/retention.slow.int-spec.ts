import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import { Registry } from 'prom-client';
import { FeedRetention } from './feed-retention.js';
import type { RemoteFeed } from './follower.js';
import { lockLogForShare, LogRetention, type LowestNeeded, oldestLogged } from './log-retention.js';
import { FollowingService, ThingsService, thingsTable } from './things.spec.fixture.js';

const day = 86_400_000;

describe('retention', () => {
  let things: ThingsService;
  let metrics: Registry;
  let logLines: { level: string; msg: string; follower?: string }[];
  const followers: FollowingService[] = [];
  const started: FeedRetention[] = [];

  beforeEach(async () => {
    things = await ThingsService.open();
    metrics = new Registry();
    logLines = [];
  });
  afterEach(async () => {
    await Promise.all(started.splice(0).map((one) => one.stop()));
    await Promise.all(followers.splice(0).map((one) => one.close()));
    await things.close();
  });

  const logger = createLogger('test', 'warn', {
    write: (line) => void logLines.push(JSON.parse(line) as (typeof logLines)[number]),
  });
  const retention = (registry = new Registry(), graceMs?: number) => {
    const options = { keepMs: 7 * day, absenceMs: 30 * day, ...(graceMs !== undefined && { graceMs }) };
    return new FeedRetention(things.database, thingsTable, options, registry, logger);
  };
  const addEvents = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 500) {
      await things.change(...Array.from({ length: Math.min(left, 500) }, (_, n) => n + 1));
    }
    await things.numberAll();
  };
  const age = async (days: number, upTo = Number.MAX_SAFE_INTEGER): Promise<void> => {
    await things.database.query(`UPDATE thing_events SET at = now() - $1 * interval '1 day' WHERE feed_seq <= $2`, [days, upTo]);
  };
  const deleteAll = async (): Promise<number> => {
    let all = 0;
    for (const one = retention(new Registry(), 0); ; ) {
      const deleted = await one.drop();
      all += deleted;
      if (deleted === 0) return all;
    }
  };
  const seqsWithBody = async (): Promise<number[]> =>
    (await things.database.query<{ seq: number }>('SELECT feed_seq AS seq FROM thing_events WHERE body IS NOT NULL ORDER BY 1'))
      .map((row) => row.seq);
  const remote: RemoteFeed = {
    read: (position, limit) => things.feed.readFor('bookkeeping', position, limit),
    startEpoch: (known, agreed) => things.feed.startEpoch(known, agreed),
  };
  const follow = async (feed = remote): Promise<FollowingService> => {
    const service = await FollowingService.open(feed);
    followers.push(service);
    service.follower.start();
    return service;
  };
  const reaches = (service: FollowingService, seq: number) => until(async () => (await service.watermark()) === seq);

  describe('of a feed', () => {
    it('deletes old bodies that all followers have confirmed; rows, numbers and ids stay', async () => {
      await addEvents(2_600);
      await age(8, 2_500);
      await things.feed.readFor('quick', { seq: 2_600 }, 1);
      await things.feed.readFor('slow', { seq: 2_300 }, 1);
      expect(await deleteAll()).toBe(2_300);
      expect((await seqsWithBody())[0]).toBe(2_301);
      await things.feed.readFor('slow', { seq: 2_600 }, 1);
      expect(await deleteAll()).toBe(200);
      expect((await seqsWithBody())[0]).toBe(2_501);
      const ids = (await things.numbered()).map((event) => event.id);
      expect(ids).toHaveLength(2_600);
      expect(ids).not.toContain(null);
    });

    it('keeps the newest event, whatever its age', async () => {
      await addEvents(5);
      await age(100);
      expect(await deleteAll()).toBe(4);
      expect(await seqsWithBody()).toEqual([5]);
      expect(await deleteAll()).toBe(0);
    });

    it('deletes the same with several replicas at a time as with one, while events are written and numbered', async () => {
      await addEvents(3_000);
      await age(8, 2_750);
      const writing = addEvents(2_000);
      const deleted = await Promise.all(
        Array.from({ length: 3 }, async () => {
          const one = retention();
          let all = 0;
          for (let n = 0; n < 20; n++) all += await one.drop();
          return all;
        }),
      );
      await writing;
      expect(deleted.reduce((sum, one) => sum + one, 0)).toBe(2_750);
      expect(await seqsWithBody()).toEqual(Array.from({ length: 2_250 }, (_, n) => 2_751 + n));
    });

    it('waits for all followers after a start, since none could poll while it was down', async () => {
      await addEvents(20);
      await age(40);
      await things.feed.readFor('slow', { seq: 5 }, 1);
      await things.database.query(`UPDATE feed_followers SET seen_at = now() - interval '40 days'`);
      expect(await retention().drop()).toBe(5);
      expect(await retention(new Registry(), 0).drop()).toBe(14);
    });

    it('reports a follower that holds events back; reports an absent one and stops waiting for it', async () => {
      await addEvents(20);
      await age(8);
      await things.feed.readFor('slow', { seq: 5 }, 1);
      await things.feed.readFor('gone', { seq: 2 }, 1);
      await things.database.query(`UPDATE feed_followers SET seen_at = now() - interval '31 days' WHERE name = 'gone'`);
      const running = retention(metrics, 0);
      started.push(running);
      running.start();
      await until(() => logLines.length === 2);
      expect((await seqsWithBody())[0]).toBe(6);
      expect(logLines.map(({ level, follower }) => [level, follower]).sort()).toEqual([['error', 'gone'], ['warn', 'slow']]);
      const text = await metrics.metrics();
      expect(text).toContain('feed_follower_lag{follower="slow"} 15');
      expect(text).toMatch(/feed_follower_behind_seconds\{follower="slow"\} 69\d{4}/);
      expect(text).toMatch(/feed_follower_unseen_seconds\{follower="gone"\} 267\d{4}/);
      expect(text).toMatch(/feed_oldest_age_seconds 69\d{4}/);
    });
  });

  describe('and a follower', () => {
    it('that asks for deleted events records one gap and continues with the oldest retained event', async () => {
      await addEvents(50);
      const service = await follow();
      await reaches(service, 50);
      await service.follower.stop();
      await addEvents(50);
      await age(40, 80);
      await things.database.query(`UPDATE feed_followers SET seen_at = now() - interval '31 days'`);
      expect(await deleteAll()).toBe(80);
      service.restart(remote);
      await reaches(service, 100);
      await addEvents(10);
      await reaches(service, 110);
      expect(await service.database.query('SELECT after_seq AS after, resumes_at AS resumes FROM event_gaps')).toEqual([
        { after: 50, resumes: 81 },
      ]);
      const numbered = await things.numbered();
      expect((await service.log()).map((event) => event.id)).toEqual(
        [...numbered.slice(0, 50), ...numbered.slice(80)].map((event) => event.id),
      );
    });

    it('that is new begins with the oldest retained event, after one gap', async () => {
      await addEvents(30);
      await age(8, 20);
      await deleteAll();
      const service = await follow();
      await reaches(service, 30);
      expect((await service.log()).map((event) => event.seq)).toEqual(Array.from({ length: 10 }, (_, n) => 21 + n));
    });

    it('that receives all events by messages still confirms them', async () => {
      const service = await follow();
      await until(async () => (await things.database.query('SELECT 1 FROM feed_followers')).length === 1);
      const passed = async () => (await things.database.query<{ passed: number }>('SELECT passed FROM feed_followers'))[0]?.passed;
      // More often than the poll without messages.
      await until(async () => {
        await things.change(1);
        for (const message of await things.numberAll()) service.follower.receive(message);
        return ((await passed()) ?? 0) > 0;
      });
    });

    it('restored to before the retained events gets those under new numbers, and no event without a body', async () => {
      await addEvents(60);
      const service = await follow();
      await reaches(service, 60);
      await service.follower.stop();
      await things.feed.readFor('bookkeeping', { seq: 60 }, 1);
      await age(8, 40);
      expect(await deleteAll()).toBe(40);
      // From 31 on the follower has other events, of another history.
      await service.database.query('UPDATE event_log SET event_id = gen_random_uuid() WHERE seq > 30');
      service.restart(remote);
      await until(async () => {
        await things.numberAll();
        return (await things.feed.head()).head === 80 && (await service.watermark()) === 80;
      });
      const renumbered = (await things.numbered()).filter((event) => event.seq > 60);
      expect(renumbered).toHaveLength(20);
      expect((await service.log()).slice(60)).toEqual(renumbered);
      const late = await follow();
      await reaches(late, 80);
      expect(await late.log()).toEqual(renumbered);
      // The feed begins at the first new number: there is one gap before it.
      expect(await late.database.query('SELECT after_seq AS after, resumes_at AS "resumesAt" FROM event_gaps')).toEqual([{ after: 0, resumesAt: 61 }]);
      expect(await things.feed.read({ seq: 0 }, 1)).toMatchObject({ next: 61, events: [{ seq: 61 }] });
    });
  });

  describe('of a log', () => {
    const sweepAll = async (service: FollowingService, ...needs: LowestNeeded[]): Promise<number> => {
      const sweeper = new LogRetention(service.database, { keepMs: 30 * day, needs }, new Registry(), logger);
      let all = 0;
      for (;;) {
        const deleted = await sweeper.sweep();
        all += deleted;
        if (deleted === 0) return all;
      }
    };
    const ageLog = async (service: FollowingService, upTo: number): Promise<void> => {
      await service.database.query(`UPDATE event_log SET logged_at = now() - interval '31 days' WHERE seq <= $1`, [upTo]);
    };

    it('deletes old events up to the lowest number needed', async () => {
      await addEvents(2_500);
      const service = await follow();
      await reaches(service, 2_500);
      expect(await oldestLogged(service.database)).toBe(1);
      await ageLog(service, 2_400);
      const none = async () => undefined;
      expect(await sweepAll(service, none, async () => 1_801, async () => 2_000)).toBe(1_800);
      expect(await oldestLogged(service.database)).toBe(1_801);
      expect(await sweepAll(service, none)).toBe(600);
      expect((await service.log())[0]?.seq).toBe(2_401);
      expect(await oldestLogged(service.database)).toBe(2_401);
    });

    it('keeps the event at the watermark, so that the follower can continue from it', async () => {
      await addEvents(20);
      const service = await follow();
      await reaches(service, 20);
      await ageLog(service, 20);
      expect(await sweepAll(service)).toBe(19);
      await addEvents(5);
      await reaches(service, 25);
      expect((await service.log()).map((event) => event.seq)).toEqual([20, 21, 22, 23, 24, 25]);
      expect(await service.database.query('SELECT 1 FROM event_gaps')).toEqual([]);
    });

    it('deletes nothing while a transaction holds the lock to refer to old events', async () => {
      await addEvents(20);
      const service = await follow();
      await reaches(service, 20);
      await ageLog(service, 15);
      let needed: number | undefined;
      await service.database.transaction(async (tx) => {
        expect(await lockLogForShare(tx)).toBe(1);
        expect(await sweepAll(service, async () => needed)).toBe(0);
        needed = 8;
      });
      expect(await sweepAll(service, async () => needed)).toBe(7);
      expect(await service.database.transaction(lockLogForShare)).toBe(8);
    });
  });
});
