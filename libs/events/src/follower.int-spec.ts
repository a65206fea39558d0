import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import type { FeedEvent, FeedNudge, FeedPage, FeedPosition } from './event.js';
import type { RemoteFeed } from './follower.js';
import { FollowingService, ThingsService } from './things.spec.fixture.js';

describe('a follower', () => {
  let things: ThingsService;
  const followers: FollowingService[] = [];
  let pulls: number;
  let feedIsAway: boolean;

  beforeEach(async () => {
    things = await ThingsService.open();
    pulls = 0;
    feedIsAway = false;
  });
  afterEach(async () => {
    await Promise.all(followers.splice(0).map((follower) => follower.close()));
    await things.close();
  });

  const remote: RemoteFeed = {
    read: async (place: FeedPosition, limit: number): Promise<FeedPage> => {
      pulls++;
      if (feedIsAway) throw new Error('the feed is away');
      return things.feed.read(place, limit);
    },
    startNewEpoch: (known, agreed) => things.feed.startNewEpoch(known, agreed),
  };
  const open = async (given: Parameters<typeof FollowingService.open>[1] = {}): Promise<FollowingService> => {
    const service = await FollowingService.open(remote, given);
    followers.push(service);
    return service;
  };
  const change = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await things.change(1, 2, 3);
  };
  const hasAll = async (service: FollowingService): Promise<void> => {
    await until(async () => (await service.watermark()) >= (await things.feed.head()).head);
    expect(await service.log()).toEqual(await things.numbered());
  };
  /** Sets the feed back to a number, with what was numbered later unnumbered or lost. */
  const setBack = async (head: number, kept: 'unnumbered' | 'lost'): Promise<void> => {
    await things.database.query(
      kept === 'lost'
        ? 'DELETE FROM thing_events WHERE feed_seq > $1'
        : 'UPDATE thing_events SET feed_seq = NULL WHERE feed_seq > $1',
      [head],
    );
    await things.database.query('UPDATE feed_head SET head = $1', [head]);
    await things.database.query('DELETE FROM feed_breaks WHERE begins_at > $1', [head]);
  };
  /** Each hand-on begins where the last one ended: nothing twice, nothing beyond a hole. Its events are those of the log. */
  const isGapless = async (service: FollowingService): Promise<void> => {
    const log = await service.log();
    let last = 0;
    for (const { after, upTo, events } of service.advances) {
      expect(after).toBe(last);
      expect(upTo).toBeGreaterThan(after);
      const logged = log.filter(({ seq }) => seq > after && seq <= upTo);
      if (events) expect(events).toMatchObject(logged);
      last = upTo;
    }
  };

  it('takes nudges that may wait together, and at once with one that may not', async () => {
    const service = await open();
    service.follower.start();
    await change(1);
    const [first] = await things.numberAll();
    service.follower.onNudge(first!);
    await until(() => service.advances.length === 1);
    // What is logged from here on came with a nudge.
    feedIsAway = true;
    const nudges = [];
    for (let n = 0; n < 3; n++) {
      await change(1);
      nudges.push(...(await things.numberAll()));
    }
    for (const nudge of nudges) service.follower.onNudge({ ...nudge, mayWait: true });
    await until(() => service.advances.length === 2);
    expect(service.advances[1]).toMatchObject({ after: 3, upTo: 12 });
    await change(2);
    const [waits, urgent] = [(await things.numberAll())[0]!, await change(1).then(() => things.numberAll())];
    service.follower.onNudge({ ...waits, mayWait: true });
    service.follower.onNudge(urgent[0]!);
    await until(() => service.advances.length === 3);
    expect(service.advances[2]).toMatchObject({ after: 12, upTo: 21 });
    await isGapless(service);
  });

  it('leaves to another replica what that one has logged, and goes on when it stops', async () => {
    const service = await open();
    service.follower.start();
    await change(1);
    const [first] = await things.numberAll();
    service.follower.onNudge(first!);
    await until(() => service.advances.length === 1);
    feedIsAway = true;
    const numbered = async (): Promise<FeedNudge> => ({ ...(await change(1).then(() => things.numberAll()))[0]!, mayWait: true });
    // Nobody has logged it: what is not taken here is missed.
    const others = await numbered();
    service.follower.onNudge(others);
    service.follower.onLoggedElsewhere({ epoch: others.epoch, upTo: others.head });
    service.follower.onNudge(await numbered());
    const before = pulls;
    await until(() => pulls > before);
    expect(service.advances).toHaveLength(1);
    feedIsAway = false;
    await hasAll(service);
    // Of another history, or further than was logged: it stays to be taken.
    const [next, after] = [await numbered(), await numbered()];
    feedIsAway = true;
    for (const nudge of [next, after]) service.follower.onNudge(nudge);
    service.follower.onLoggedElsewhere({ epoch: randomUUID(), upTo: after.head });
    service.follower.onLoggedElsewhere({ epoch: next.epoch, upTo: next.head - 1 });
    await until(async () => (await service.watermark()) === after.head);
    await isGapless(service);
  });

  it('writes nothing while the feed brings nothing, and knows that it has all', async () => {
    const service = await open();
    service.follower.start();
    await change(3);
    await things.numberAll();
    await until(async () => (await service.watermark()) === 9);
    const row = () => service.database.query('SELECT ctid::text, xmin::text, xmax::text FROM feed_watermark');
    const [before, asked] = [await row(), pulls];
    await until(() => pulls >= asked + 2);
    expect(await row()).toEqual(before);
    expect(service.follower.lag).toBe(0);
  });

  it('that starts late, or was away for 3,000 events, pulls them all', async () => {
    for (let n = 0; n < 30; n++) await things.change(...Array.from({ length: 100 }, (_, id) => id + 1));
    await things.numberAll();
    const service = await open();
    service.follower.start();
    await hasAll(service);
    await isGapless(service);
  });

  it('takes events from nudges alone, without asking the feed', async () => {
    const service = await open();
    service.follower.start();
    await until(() => pulls > 0);
    feedIsAway = true;
    const before = pulls;
    for (let n = 0; n < 20; n++) {
      await change(1);
      for (const nudge of await things.numberAll()) service.follower.onNudge(nudge);
      await until(async () => (await service.watermark()) === (n + 1) * 3);
    }
    expect(pulls - before).toBeLessThanOrEqual(3);
    await isGapless(service);
  });

  it('fills what nudges left out, and takes doubled and reordered ones once', async () => {
    const service = await open();
    service.follower.start();
    for (let round = 0; round < 10; round++) {
      const nudges = [];
      for (let n = 0; n < 6; n++) {
        await change(1);
        nudges.push(...(await things.numberAll()));
      }
      const heard = nudges.filter((_, n) => n % 3 !== 0).reverse();
      for (const nudge of [...heard, ...heard]) service.follower.onNudge(nudge);
    }
    await hasAll(service);
    await isGapless(service);
  });

  it('hands nothing on beyond a hole until the hole is filled', async () => {
    const service = await open();
    service.follower.start();
    await until(() => pulls > 0);
    feedIsAway = true;
    await change(1);
    await things.numberAll();
    await change(1);
    for (const nudge of await things.numberAll()) service.follower.onNudge(nudge);
    const asked = pulls;
    await until(() => pulls > asked);
    expect(await service.database.query('SELECT 1 FROM event_log')).toEqual([]);
    expect(service.advances).toEqual([]);
    feedIsAway = false;
    await hasAll(service);
    expect(service.advances).toMatchObject([{ after: 0, upTo: 6, events: [1, 2, 3, 4, 5, 6].map((seq) => ({ seq })) }]);
  });

  it('does again what it was doing when its transaction failed', async () => {
    let failures = 2;
    const done: number[] = [];
    const service = await open({
      onAdvance: async (tx, { after, upTo }) => {
        await tx.query('SELECT 1');
        if (failures-- > 0) throw new Error('killed before the commit');
        for (let seq = after + 1; seq <= upTo; seq++) done.push(seq);
      },
    });
    await change(4);
    await things.numberAll();
    service.follower.start();
    await hasAll(service);
    expect(done).toEqual(Array.from({ length: 12 }, (_, n) => n + 1));
  });

  describe('that hears a number with another event', () => {
    const written: { level: string; seqs?: number[] }[] = [];
    const openLoud = async (): Promise<FollowingService> => {
      written.length = 0;
      const logger = createLogger('test', 'error', {
        write: (line) => void written.push(JSON.parse(line) as (typeof written)[number]),
      });
      const service = await FollowingService.open(remote, {}, logger);
      followers.push(service);
      return service;
    };
    const other = (seq: number): FeedEvent => ({
      seq,
      id: randomUUID(),
      subject: '00000000-0000-4000-8000-000000000001',
      body: '{"of":"another history"}',
    });
    const alarms = (): number[] => written.flatMap(({ seqs = [] }) => seqs);

    it('raises an alarm and keeps what it has handed on', async () => {
      const service = await openLoud();
      await change(4);
      await things.numberAll();
      service.follower.start();
      await hasAll(service);
      const { epoch, head } = await things.feed.head();
      const place = { seq: 4, id: (await things.numbered())[3]!.id };
      service.follower.onNudge({ epoch, head, after: place, events: [other(5), other(6)] });
      await until(() => alarms().length === 2);
      expect(alarms()).toEqual([5, 6]);
      await change(1);
      await things.numberAll();
      await hasAll(service);
      await isGapless(service);
    });

    it.each(['the end', 'what comes after it'] as const)('takes nothing of a nudge with another history before %s, and asks', async (from) => {
      const service = await openLoud();
      await change(2);
      await things.numberAll();
      service.follower.start();
      await hasAll(service);
      const known = await service.log();
      // Its database lost the last two and gave their numbers to others before anybody asked.
      await setBack(4, 'lost');
      feedIsAway = true;
      const nudges = [];
      for (let n = 0; n < 3; n++) {
        await things.change(n + 1, n + 2);
        nudges.push(...(await things.numberAll()));
      }
      const asked = pulls;
      for (const nudge of from === 'the end' ? nudges : nudges.slice(1)) service.follower.onNudge(nudge);
      await until(() => pulls > asked);
      expect(await service.log()).toEqual(known);
      feedIsAway = false;
      await until(async () => {
        await things.numberAll();
        const { head } = await things.feed.head();
        return head > 10 && (await service.watermark()) === head;
      });
      if (from === 'the end') expect(alarms()).toEqual([5, 6]);
      const ids = (await service.log()).map((event) => event.id);
      expect(ids.slice(0, 6)).toEqual(known.map((event) => event.id));
      expect([...ids.slice(6)].sort()).toEqual((await things.numbered()).slice(4).map((event) => event.id).sort());
      await isGapless(service);
    });
  });

  describe('of a feed that was restored from a backup', () => {
    it.each(['before', 'after'] as const)('loses nothing that the feed has, noticing %s it had more than we knew', async (when) => {
      const service = await open();
      await change(100);
      await things.numberAll();
      service.follower.start();
      await hasAll(service);
      await service.follower.stop();
      const lost = (await things.numbered()).slice(240);

      await setBack(240, 'lost');
      await change(when === 'before' ? 5 : 50);
      await things.numberAll();
      const again = restart(service);
      await until(async () => {
        // As the loop of the feed's owner does.
        await things.numberAll();
        const { head } = await things.feed.head();
        return head > 300 && (await again()) >= head;
      });

      const ids = new Set((await service.log()).map((event) => event.id));
      for (const event of await things.numbered()) expect(ids.has(event.id)).toBe(true);
      for (const event of lost) expect(ids.has(event.id)).toBe(true);
    });

    it('hands an event on once whose number was lost with the backup', async () => {
      const service = await open();
      await change(10);
      await things.numberAll();
      service.follower.start();
      await hasAll(service);
      await service.follower.stop();
      const before = await service.log();
      await setBack(20, 'unnumbered');
      await things.numberAll();
      await change(1);
      const again = restart(service);
      await until(async () => {
        await things.numberAll();
        return (await again()) > 30 && (await again()) >= (await things.feed.head()).head;
      });
      const ids = (await service.log()).map((event) => event.id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.slice(0, 30)).toEqual(before.map((event) => event.id));
      expect(ids).toHaveLength(33);
    });

    it('passes the break on as one gap to a follower that was behind', async () => {
      const [quick, slow] = [await open(), await open()];
      await change(20);
      await things.numberAll();
      quick.follower.start();
      await hasAll(quick);
      await quick.follower.stop();
      // The slow one has seen 30 of the 60.
      const page = await things.feed.read({ seq: 0 }, 30);
      slow.follower.onNudge({ epoch: page.epoch, head: 30, after: { seq: 0 }, events: page.events });
      feedIsAway = true;
      slow.follower.start();
      await until(async () => (await slow.watermark()) === 30);
      await slow.follower.stop();
      feedIsAway = false;

      await setBack(21, 'lost');
      const quickAgain = restart(quick);
      await until(async () => (await things.feed.head()).head >= 60);
      await change(3);
      await things.numberAll();
      const slowAgain = restart(slow);
      await until(async () => (await quickAgain()) === 69 && (await slowAgain()) === 69);
      expect(await slow.database.query('SELECT after_seq AS after, resumes_at AS resumes FROM event_gaps')).toEqual([
        { after: 30, resumes: 61 },
      ]);
      expect(await quick.database.query('SELECT 1 FROM event_gaps')).toEqual([]);
    });

    it('is followed over all its breaks by those who were before them, or have nothing at all', async () => {
      const [quick, slow, late] = [await open(), await open(), await open()];
      await change(20);
      await things.numberAll();
      quick.follower.start();
      await hasAll(quick);
      await quick.follower.stop();
      const page = await things.feed.read({ seq: 0 }, 12);
      slow.follower.onNudge({ epoch: page.epoch, head: 12, after: { seq: 0 }, events: page.events });
      feedIsAway = true;
      slow.follower.start();
      await until(async () => (await slow.watermark()) === 12);
      await slow.follower.stop();
      feedIsAway = false;

      let watermark = restart(quick);
      for (const [back, beyond] of [[21, 60], [66, 72], [15, 78]] as const) {
        await quick.follower.stop();
        await setBack(back, 'lost');
        watermark = restart(quick);
        await until(async () => (await things.feed.head()).head >= beyond);
        await change(4);
        await things.numberAll();
        await until(async () => (await watermark()) >= (await things.feed.head()).head);
      }
      const { head } = await things.feed.head();
      late.follower.start();
      const slowAgain = restart(slow);
      await until(async () => (await slowAgain()) === head && (await late.watermark()) === head);
      expect(await slow.log()).toEqual(await things.numbered());
      expect(await late.log()).toEqual(await things.numbered());
    });

    /** The same service started again on its own data. @returns its watermark */
    const restart = (service: FollowingService): (() => Promise<number>) => {
      service.restart(remote);
      return () => service.watermark();
    };
  });
});
