import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@plant-shop/platform/logging';
import { until } from '@plant-shop/testing/until';
import type { FeedEvent, FeedMessage, FeedPage, FeedPosition } from './feed.js';
import type { RemoteFeed } from './follower.js';
import { FollowingService, ThingsService } from './things.spec.fixture.js';

describe('a follower', () => {
  let things: ThingsService;
  const followers: FollowingService[] = [];
  let pulls: number;
  let feedIsDown: boolean;

  beforeEach(async () => {
    things = await ThingsService.open();
    pulls = 0;
    feedIsDown = false;
  });
  afterEach(async () => {
    await Promise.all(followers.splice(0).map((follower) => follower.close()));
    await things.close();
  });

  const remote: RemoteFeed = {
    read: async (position: FeedPosition, limit: number): Promise<FeedPage> => {
      pulls++;
      if (feedIsDown) throw new Error('the feed is down');
      return things.feed.read(position, limit);
    },
    startEpoch: (known, agreed) => things.feed.startEpoch(known, agreed),
  };
  const open = async (apply?: Parameters<typeof FollowingService.open>[1]): Promise<FollowingService> => {
    const service = await FollowingService.open(remote, apply);
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
  /** Restores the feed to an earlier head. Later events lose their numbers, or are lost. */
  const restore = async (head: number, later: 'unnumbered' | 'lost'): Promise<void> => {
    await things.database.query(
      later === 'lost'
        ? 'DELETE FROM thing_events WHERE feed_seq > $1'
        : 'UPDATE thing_events SET feed_seq = NULL WHERE feed_seq > $1',
      [head],
    );
    await things.database.query('UPDATE feed_head SET head = $1', [head]);
    await things.database.query('DELETE FROM feed_breaks WHERE begins_at > $1', [head]);
  };
  /** Expects each announced range to begin where the last one ended, with the events of the log: none twice, none beyond missing ones. */
  const expectNoGaps = async (service: FollowingService): Promise<void> => {
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

  it('logs messages that may wait together, and at once when an urgent one arrives', async () => {
    const service = await open();
    service.follower.start();
    await change(1);
    const [first] = await things.numberAll();
    service.follower.receive(first!);
    await until(() => service.advances.length === 1);
    // From here on events can only arrive with messages.
    feedIsDown = true;
    const messages = [];
    for (let n = 0; n < 3; n++) {
      await change(1);
      messages.push(...(await things.numberAll()));
    }
    for (const message of messages) service.follower.receive({ ...message, mayWait: true });
    await until(() => service.advances.length === 2);
    expect(service.advances[1]).toMatchObject({ after: 3, upTo: 12 });
    await change(2);
    const [deferrable, urgent] = [(await things.numberAll())[0]!, await change(1).then(() => things.numberAll())];
    service.follower.receive({ ...deferrable, mayWait: true });
    service.follower.receive(urgent[0]!);
    await until(() => service.advances.length === 3);
    expect(service.advances[2]).toMatchObject({ after: 12, upTo: 21 });
    await expectNoGaps(service);
  });

  it('leaves events that another replica has logged to it, and continues when that one stops', async () => {
    const service = await open();
    service.follower.start();
    await change(1);
    const [first] = await things.numberAll();
    service.follower.receive(first!);
    await until(() => service.advances.length === 1);
    feedIsDown = true;
    const numbered = async (): Promise<FeedMessage> => ({ ...(await change(1).then(() => things.numberAll()))[0]!, mayWait: true });
    // No replica has really logged these events, so a message that is dropped here shows as missing.
    const claimed = await numbered();
    service.follower.receive(claimed);
    service.follower.noteLoggedElsewhere({ epoch: claimed.epoch, upTo: claimed.head });
    service.follower.receive(await numbered());
    const before = pulls;
    await until(() => pulls > before);
    expect(service.advances).toHaveLength(1);
    feedIsDown = false;
    await hasAll(service);
    // Messages of another history, or beyond what was logged, stay.
    const [next, after] = [await numbered(), await numbered()];
    feedIsDown = true;
    for (const message of [next, after]) service.follower.receive(message);
    service.follower.noteLoggedElsewhere({ epoch: randomUUID(), upTo: after.head });
    service.follower.noteLoggedElsewhere({ epoch: next.epoch, upTo: next.head - 1 });
    await until(async () => (await service.watermark()) === after.head);
    await expectNoGaps(service);
  });

  it('writes nothing while the feed has no new events, and reports no lag', async () => {
    const service = await open();
    service.follower.start();
    await change(3);
    await things.numberAll();
    await until(async () => (await service.watermark()) === 9);
    const row = () => service.database.query('SELECT ctid::text, xmin::text, xmax::text FROM feed_watermark');
    const [before, pullsBefore] = [await row(), pulls];
    await until(() => pulls >= pullsBefore + 2);
    expect(await row()).toEqual(before);
    expect(service.follower.lag).toBe(0);
  });

  it('that starts 3,000 events late pulls them all', async () => {
    for (let n = 0; n < 30; n++) await things.change(...Array.from({ length: 100 }, (_, id) => id + 1));
    await things.numberAll();
    const service = await open();
    service.follower.start();
    await hasAll(service);
    await expectNoGaps(service);
  });

  it('continues to catch up after a message that arrives late, and its lag does not shrink by it', async () => {
    for (let n = 0; n < 25; n++) await things.change(...Array.from({ length: 100 }, (_, id) => id + 1));
    const [first] = await things.numberAll();
    const { follower } = await open();
    expect(await follower.run()).toBe(true);
    expect(follower.lag).toBe(1_500);
    follower.receive(first!);
    expect(await follower.run()).toBe(true);
    expect(follower.lag).toBe(500);
  });

  it('logs events from messages alone, without pulling them', async () => {
    const service = await open();
    service.follower.start();
    await until(() => pulls > 0);
    feedIsDown = true;
    const before = pulls;
    for (let n = 0; n < 20; n++) {
      await change(1);
      for (const message of await things.numberAll()) service.follower.receive(message);
      await until(async () => (await service.watermark()) === (n + 1) * 3);
    }
    expect(pulls - before).toBeLessThanOrEqual(3);
    await expectNoGaps(service);
  });

  it('pulls events that messages left out, and logs those of duplicate and reordered messages once', async () => {
    const service = await open();
    service.follower.start();
    for (let round = 0; round < 10; round++) {
      const messages = [];
      for (let n = 0; n < 6; n++) {
        await change(1);
        messages.push(...(await things.numberAll()));
      }
      const received = messages.filter((_, n) => n % 3 !== 0).reverse();
      for (const message of [...received, ...received]) service.follower.receive(message);
    }
    await hasAll(service);
    await expectNoGaps(service);
  });

  it('delivers nothing beyond missing events until it has them', async () => {
    const service = await open();
    service.follower.start();
    await until(() => pulls > 0);
    feedIsDown = true;
    await change(1);
    await things.numberAll();
    await change(1);
    for (const message of await things.numberAll()) service.follower.receive(message);
    const pullsBefore = pulls;
    await until(() => pulls > pullsBefore);
    expect(await service.database.query('SELECT 1 FROM event_log')).toEqual([]);
    expect(service.advances).toEqual([]);
    feedIsDown = false;
    await hasAll(service);
    expect(service.advances).toMatchObject([{ after: 0, upTo: 6, events: [1, 2, 3, 4, 5, 6].map((seq) => ({ seq })) }]);
  });

  it('logs each event once when replicas log in turns and at the same time', async () => {
    const service = await open();
    const replicas = [service.follower, service.startReplica(remote)];
    service.follower.start();
    try {
      for (let round = 0; round < 20; round++) {
        await change(1);
        const messages = await things.numberAll();
        const receivers = round % 3 === 2 ? replicas : [replicas[round % 3]!];
        for (const message of messages) for (const one of receivers) one.receive(message);
        // Sometimes the next event arrives while this one is being logged.
        if (round % 5 !== 0) await until(async () => (await service.watermark()) === (round + 1) * 3);
      }
      await hasAll(service);
      const announced = service.advances.flatMap(({ after, upTo }) => Array.from({ length: upTo - after }, (_, n) => after + n + 1));
      expect(announced.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
    } finally {
      await replicas[1]?.stop();
    }
  });

  it('leaves no hole when the log is restored from a backup while the follower runs', async () => {
    const service = await open();
    service.follower.start();
    await change(2);
    await things.numberAll();
    await hasAll(service);
    feedIsDown = true;
    await service.database.query('DELETE FROM event_log WHERE seq > 3');
    await service.database.query('UPDATE feed_watermark SET watermark = 3');
    await change(1);
    for (const message of await things.numberAll()) service.follower.receive(message);
    const before = pulls;
    await until(() => pulls > before);
    feedIsDown = false;
    await hasAll(service);
  });

  it('logs nothing after an event that the log replaced by another while the follower runs', async () => {
    const service = await open();
    service.follower.start();
    await change(2);
    await things.numberAll();
    await hasAll(service);
    feedIsDown = true;
    const foreign = randomUUID();
    await service.database.query('UPDATE event_log SET event_id = $1 WHERE seq = 6', [foreign]);
    await change(1);
    for (const message of await things.numberAll()) service.follower.receive(message);
    const before = pulls;
    await until(() => pulls > before);
    feedIsDown = false;
    await until(async () => {
      await things.numberAll();
      return (await service.watermark()) > 9;
    });
    const log = await service.log();
    expect(log.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 10, 11, 12, 13]);
    expect(log[5]?.id).toBe(foreign);
  });

  it('repeats a transaction that failed', async () => {
    let failures = 2;
    const done: number[] = [];
    const service = await open(async (tx, { after, upTo }) => {
      await tx.query('SELECT 1');
      if (failures-- > 0) throw new Error('failed before the commit');
      for (let seq = after + 1; seq <= upTo; seq++) done.push(seq);
    });
    await change(4);
    await things.numberAll();
    service.follower.start();
    await hasAll(service);
    expect(done).toEqual(Array.from({ length: 12 }, (_, n) => n + 1));
  });

  describe('that receives a known number with another event', () => {
    const logLines: { level: string; seqs?: number[] }[] = [];
    const openLogging = async (): Promise<FollowingService> => {
      logLines.length = 0;
      const logger = createLogger('test', 'error', {
        write: (line) => void logLines.push(JSON.parse(line) as (typeof logLines)[number]),
      });
      const service = await FollowingService.open(remote, undefined, logger);
      followers.push(service);
      return service;
    };
    const other = (seq: number): FeedEvent => ({
      seq,
      id: randomUUID(),
      subject: '00000000-0000-4000-8000-000000000001',
      body: '{"of":"another history"}',
    });
    const reported = (): number[] => logLines.flatMap(({ seqs = [] }) => seqs);

    it('logs an error and keeps the events that it has delivered', async () => {
      const service = await openLogging();
      await change(4);
      await things.numberAll();
      service.follower.start();
      await hasAll(service);
      const { epoch, head } = await things.feed.head();
      const after = { seq: 4, id: (await things.numbered())[3]!.id };
      service.follower.receive({ epoch, head, after, events: [other(5), other(6)] });
      await until(() => reported().length === 2);
      expect(reported()).toEqual([5, 6]);
      await change(1);
      await things.numberAll();
      await hasAll(service);
      await expectNoGaps(service);
    });

    it.each(['its end', 'its new events'] as const)('logs nothing of a message whose history differs before %s', async (point) => {
      const service = await openLogging();
      await change(2);
      await things.numberAll();
      service.follower.start();
      await hasAll(service);
      const known = await service.log();
      // The feed's database lost the last two events and assigned their numbers to others before a follower pulled.
      await restore(4, 'lost');
      feedIsDown = true;
      const messages = [];
      for (let n = 0; n < 3; n++) {
        await things.change(n + 1, n + 2);
        messages.push(...(await things.numberAll()));
      }
      const pullsBefore = pulls;
      for (const message of point === 'its end' ? messages : messages.slice(1)) service.follower.receive(message);
      await until(() => pulls > pullsBefore);
      expect(await service.log()).toEqual(known);
      feedIsDown = false;
      await until(async () => {
        await things.numberAll();
        const { head } = await things.feed.head();
        return head > 10 && (await service.watermark()) === head;
      });
      if (point === 'its end') expect(reported()).toEqual([5, 6]);
      const ids = (await service.log()).map((event) => event.id);
      expect(ids.slice(0, 6)).toEqual(known.map((event) => event.id));
      expect([...ids.slice(6)].sort()).toEqual((await things.numbered()).slice(4).map((event) => event.id).sort());
      await expectNoGaps(service);
    });
  });

  describe('of a feed that was restored from a backup', () => {
    /** Opens a follower that has logged the events of so many changes, and stops it. */
    const openLogged = async (times: number): Promise<FollowingService> => {
      const service = await open();
      await change(times);
      await things.numberAll();
      service.follower.start();
      await hasAll(service);
      await service.follower.stop();
      return service;
    };
    /** Restarts a follower, and waits until its log is complete, and beyond a number. */
    const catchUp = async (service: FollowingService, beyond: number): Promise<void> => {
      const watermark = restart(service);
      await until(async () => {
        // As the loop of the feed's owner would.
        await things.numberAll();
        const { head } = await things.feed.head();
        return head > beyond && (await watermark()) >= head;
      });
    };

    it.each(['before', 'after'] as const)('has all events of the feed when it polls %s the feed has passed its number', async (when) => {
      const service = await openLogged(100);
      const lost = (await things.numbered()).slice(240);

      await restore(240, 'lost');
      await change(when === 'before' ? 5 : 50);
      await things.numberAll();
      await catchUp(service, 300);

      const ids = new Set((await service.log()).map((event) => event.id));
      for (const event of await things.numbered()) expect(ids.has(event.id)).toBe(true);
      for (const event of lost) expect(ids.has(event.id)).toBe(true);
    });

    it('delivers an event once when its number was lost with the backup', async () => {
      const service = await openLogged(10);
      const before = await service.log();
      await restore(20, 'unnumbered');
      await things.numberAll();
      await change(1);
      await catchUp(service, 30);
      const ids = (await service.log()).map((event) => event.id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.slice(0, 30)).toEqual(before.map((event) => event.id));
      expect(ids).toHaveLength(33);
    });

    it('delivers an event once when it gets another number and another place', async () => {
      const service = await openLogged(10);
      const before = (await service.log()).map(({ id }) => id);
      await restore(20, 'unnumbered');
      // These five are numbered after the others now.
      await things.database.query(`UPDATE thing_events SET position = DEFAULT WHERE event_id = ANY($1)`, [before.slice(20, 25)]);
      await things.numberAll();
      await catchUp(service, 30);
      expect((await service.log()).map(({ id }) => id)).toEqual(before);
      const repeated = await service.database.query<{ id: string }>('SELECT event_id AS id FROM event_log WHERE repeats');
      expect(repeated.map(({ id }) => id).sort()).toEqual(before.slice(20).sort());
    });

    it('records one gap for the lost history when it was behind', async () => {
      const [quick, slow] = [await open(), await open()];
      await change(20);
      await things.numberAll();
      quick.follower.start();
      await hasAll(quick);
      await quick.follower.stop();
      // The slow one has 30 of the 60 events.
      const page = await things.feed.read({ seq: 0 }, 30);
      slow.follower.receive({ epoch: page.epoch, head: 30, after: { seq: 0 }, events: page.events });
      feedIsDown = true;
      slow.follower.start();
      await until(async () => (await slow.watermark()) === 30);
      await slow.follower.stop();
      feedIsDown = false;

      await restore(21, 'lost');
      const quickWatermark = restart(quick);
      await until(async () => (await things.feed.head()).head >= 60);
      await change(3);
      await things.numberAll();
      const slowWatermark = restart(slow);
      await until(async () => (await quickWatermark()) === 69 && (await slowWatermark()) === 69);
      expect(await slow.database.query('SELECT after_seq AS after, resumes_at AS resumes FROM event_gaps')).toEqual([
        { after: 30, resumes: 61 },
      ]);
      expect(await quick.database.query('SELECT 1 FROM event_gaps')).toEqual([]);
    });

    it('counts the events before a new epoch to the epoch that has ended, so that the log has one break', async () => {
      const service = await openLogged(10);
      const { epoch } = await things.feed.head();
      await change(10);
      await things.numberAll();
      // The promoted replica has all events, and its WAL timeline is new.
      await things.database.query(`UPDATE feed_head SET timeline = '000000FF'`);
      await change(1);
      await things.numberAll();
      const current = await things.feed.head();
      const watermark = restart(service);
      await until(async () => (await watermark()) === current.head);
      for (const { epoch: of, upTo } of service.advances) expect(of).toBe(upTo <= 60 ? epoch : current.epoch);
      expect(await service.database.query('SELECT after_seq AS after, nothing_lost AS "nothingLost" FROM event_gaps')).toEqual([{ after: 60, nothingLost: true }]);
    });

    it('crosses several restores, from before the first one or from the beginning', async () => {
      const [quick, slow, late] = [await open(), await open(), await open()];
      await change(20);
      await things.numberAll();
      quick.follower.start();
      await hasAll(quick);
      await quick.follower.stop();
      const page = await things.feed.read({ seq: 0 }, 12);
      slow.follower.receive({ epoch: page.epoch, head: 12, after: { seq: 0 }, events: page.events });
      feedIsDown = true;
      slow.follower.start();
      await until(async () => (await slow.watermark()) === 12);
      await slow.follower.stop();
      feedIsDown = false;

      let watermark = restart(quick);
      for (const [back, beyond] of [[21, 60], [66, 72], [15, 78]] as const) {
        await quick.follower.stop();
        await restore(back, 'lost');
        watermark = restart(quick);
        await until(async () => (await things.feed.head()).head >= beyond);
        await change(4);
        await things.numberAll();
        await until(async () => (await watermark()) >= (await things.feed.head()).head);
      }
      const { head } = await things.feed.head();
      late.follower.start();
      const slowWatermark = restart(slow);
      await until(async () => (await slowWatermark()) === head && (await late.watermark()) === head);
      expect(await slow.log()).toEqual(await things.numbered());
      expect(await late.log()).toEqual(await things.numbered());
    });

    /** Restarts a service on its own data. @returns a function that reads its watermark */
    const restart = (service: FollowingService): (() => Promise<number>) => {
      service.restart(remote);
      return () => service.watermark();
    };
  });
});
