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
  let written: { level: string; msg: string; follower?: string }[];
  const followers: FollowingService[] = [];
  const started: FeedRetention[] = [];

  beforeEach(async () => {
    things = await ThingsService.open();
    metrics = new Registry();
    written = [];
  });
  afterEach(async () => {
    await Promise.all(started.splice(0).map((one) => one.stop()));
    await Promise.all(followers.splice(0).map((one) => one.close()));
    await things.close();
  });

  const logger = createLogger('test', 'warn', {
    write: (line) => void written.push(JSON.parse(line) as (typeof written)[number]),
  });
  const retention = (registry = new Registry(), graceMs?: number) => {
    const options = { keepMs: 7 * day, absenceMs: 30 * day, ...(graceMs !== undefined && { graceMs }) };
    return new FeedRetention(things.database, thingsTable, options, registry, logger);
  };
  const happen = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 500) {
      await things.change(...Array.from({ length: Math.min(left, 500) }, (_, n) => n + 1));
    }
    await things.numberAll();
  };
  const age = async (days: number, upTo = Number.MAX_SAFE_INTEGER): Promise<void> => {
    await things.database.query(`UPDATE thing_events SET at = now() - $1 * interval '1 day' WHERE feed_seq <= $2`, [days, upTo]);
  };
  const dropAll = async (): Promise<number> => {
    let all = 0;
    for (const one = retention(new Registry(), 0); ; ) {
      const dropped = await one.drop();
      all += dropped;
      if (dropped === 0) return all;
    }
  };
  const kept = async (): Promise<number[]> =>
    (await things.database.query<{ seq: number }>('SELECT feed_seq AS seq FROM thing_events WHERE body IS NOT NULL ORDER BY 1'))
      .map((row) => row.seq);
  const remote: RemoteFeed = {
    read: (place, limit) => things.feed.readFor('bookkeeping', place, limit),
    startNewEpoch: (known, agreed) => things.feed.startNewEpoch(known, agreed),
  };
  const follow = async (feed = remote): Promise<FollowingService> => {
    const service = await FollowingService.open(feed);
    followers.push(service);
    service.follower.start();
    return service;
  };
  const reaches = (service: FollowingService, seq: number) => until(async () => (await service.watermark()) === seq);

  describe('of a feed', () => {
    it('drops bodies that are old and that all followers have passed; rows, numbers and ids stay', async () => {
      await happen(2_600);
      await age(8, 2_500);
      await things.feed.readFor('quick', { seq: 2_600 }, 1);
      await things.feed.readFor('slow', { seq: 2_300 }, 1);
      expect(await dropAll()).toBe(2_300);
      expect((await kept())[0]).toBe(2_301);
      await things.feed.readFor('slow', { seq: 2_600 }, 1);
      expect(await dropAll()).toBe(200);
      expect((await kept())[0]).toBe(2_501);
      const ids = (await things.numbered()).map((event) => event.id);
      expect(ids).toHaveLength(2_600);
      expect(ids).not.toContain(null);
    });

    it('keeps the newest event, however old', async () => {
      await happen(5);
      await age(100);
      expect(await dropAll()).toBe(4);
      expect(await kept()).toEqual([5]);
      expect(await dropAll()).toBe(0);
    });

    it('drops what all replicas drop at once exactly as one would, while events are written and numbered', async () => {
      await happen(3_000);
      await age(8, 2_750);
      const writing = happen(2_000);
      const dropped = await Promise.all(
        Array.from({ length: 3 }, async () => {
          const one = retention();
          let all = 0;
          for (let n = 0; n < 20; n++) all += await one.drop();
          return all;
        }),
      );
      await writing;
      expect(dropped.reduce((sum, one) => sum + one, 0)).toBe(2_750);
      expect(await kept()).toEqual(Array.from({ length: 2_250 }, (_, n) => 2_751 + n));
    });

    it('waits for everybody when it comes up: nobody could ask while it was away', async () => {
      await happen(20);
      await age(40);
      await things.feed.readFor('slow', { seq: 5 }, 1);
      await things.database.query(`UPDATE feed_followers SET seen_at = now() - interval '40 days'`);
      expect(await retention().drop()).toBe(5);
      expect(await retention(new Registry(), 0).drop()).toBe(14);
    });

    it('tells who holds events back, waits for an absent follower no longer, and tells that, too', async () => {
      await happen(20);
      await age(8);
      await things.feed.readFor('slow', { seq: 5 }, 1);
      await things.feed.readFor('gone', { seq: 2 }, 1);
      await things.database.query(`UPDATE feed_followers SET seen_at = now() - interval '31 days' WHERE name = 'gone'`);
      const running = retention(metrics, 0);
      started.push(running);
      running.start();
      await until(() => written.length === 2);
      expect((await kept())[0]).toBe(6);
      expect(written.map(({ level, follower }) => [level, follower]).sort()).toEqual([['error', 'gone'], ['warn', 'slow']]);
      const text = await metrics.metrics();
      expect(text).toContain('feed_follower_lag{follower="slow"} 15');
      expect(text).toMatch(/feed_follower_behind_seconds\{follower="slow"\} 69\d{4}/);
      expect(text).toMatch(/feed_follower_unseen_seconds\{follower="gone"\} 267\d{4}/);
      expect(text).toMatch(/feed_oldest_age_seconds 69\d{4}/);
    });
  });

  describe('and a follower', () => {
    it('that asks from before what is kept: one gap in its log, then on from the oldest', async () => {
      await happen(50);
      const service = await follow();
      await reaches(service, 50);
      await service.follower.stop();
      await happen(50);
      await age(40, 80);
      await things.database.query(`UPDATE feed_followers SET seen_at = now() - interval '31 days'`);
      expect(await dropAll()).toBe(80);
      service.restart(remote);
      await reaches(service, 100);
      await happen(10);
      await reaches(service, 110);
      expect(await service.database.query('SELECT after_seq AS after, resumes_at AS resumes FROM event_gaps')).toEqual([
        { after: 50, resumes: 81 },
      ]);
      const numbered = await things.numbered();
      expect((await service.log()).map((event) => event.id)).toEqual(
        [...numbered.slice(0, 50), ...numbered.slice(80)].map((event) => event.id),
      );
    });

    it('that is new begins with what is kept, after one gap', async () => {
      await happen(30);
      await age(8, 20);
      await dropAll();
      const service = await follow();
      await reaches(service, 30);
      expect((await service.log()).map((event) => event.seq)).toEqual(Array.from({ length: 10 }, (_, n) => 21 + n));
    });

    it('that hears everything from nudges tells how far it has come all the same', async () => {
      const service = await follow();
      await until(async () => (await things.database.query('SELECT 1 FROM feed_followers')).length === 1);
      const passed = async () => (await things.database.query<{ passed: number }>('SELECT passed FROM feed_followers'))[0]?.passed;
      // More often than the pull of a silence.
      await until(async () => {
        await things.change(1);
        for (const nudge of await things.numberAll()) service.follower.onNudge(nudge);
        return ((await passed()) ?? 0) > 0;
      });
    });

    it('whose database was set back before what is kept gets new numbers for what is kept, and no empty body', async () => {
      await happen(60);
      const service = await follow();
      await reaches(service, 60);
      await service.follower.stop();
      await things.feed.readFor('bookkeeping', { seq: 60 }, 1);
      await age(8, 40);
      expect(await dropAll()).toBe(40);
      // The follower has other events from 31 on: it was part of another history.
      await service.database.query('UPDATE event_log SET event_id = gen_random_uuid() WHERE seq > 30');
      service.restart(remote);
      await until(async () => {
        await things.numberAll();
        return (await things.feed.head()).head === 80 && (await service.watermark()) === 80;
      });
      const told = (await things.numbered()).filter((event) => event.seq > 60);
      expect(told).toHaveLength(20);
      expect((await service.log()).slice(60)).toEqual(told);
      const late = await follow();
      await reaches(late, 80);
      expect(await late.log()).toEqual(told);
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

    it('deletes what is old up to the lowest number that somebody needs', async () => {
      await happen(2_500);
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

    it('keeps the event at the watermark, so that following goes on', async () => {
      await happen(20);
      const service = await follow();
      await reaches(service, 20);
      await ageLog(service, 20);
      expect(await sweepAll(service)).toBe(19);
      await happen(5);
      await reaches(service, 25);
      expect((await service.log()).map((event) => event.seq)).toEqual([20, 21, 22, 23, 24, 25]);
      expect(await service.database.query('SELECT 1 FROM event_gaps')).toEqual([]);
    });

    it('deletes nothing while somebody who holds the log is about to refer to it', async () => {
      await happen(20);
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
