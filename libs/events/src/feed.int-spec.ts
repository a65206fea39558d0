import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { assignNumbers } from './feed.js';
import { ThingsService } from './things.spec.fixture.js';

describe('a feed', () => {
  let service: ThingsService;
  beforeEach(async () => {
    service = await ThingsService.open();
  });
  afterEach(() => service.close());

  it('has no gaps and keeps the order of each thing while two replicas number and eight writers append 50,000 events (slow)', async () => {
    let writing = true;
    const number = async (): Promise<void> => {
      while (writing) await service.feed.number();
    };
    const numberers = [number(), number()];
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; n < 125; n++) {
        await service.change(...Array.from({ length: 50 }, (_, k) => ((writer * 7 + n * 13 + k * 6) % 300) + 1));
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
    writing = false;
    await Promise.all(numberers);
    await service.numberAll();

    const numbered = await service.numbered();
    expect(numbered).toHaveLength(50_000);
    expect(numbered.every((event, n) => event.seq === n + 1)).toBe(true);
    expect(new Set(numbered.map((event) => event.id)).size).toBe(50_000);
    expect((await service.feed.head()).head).toBe(50_000);
    const versions = new Map<number, number>();
    const outOfOrder = numbered.filter(({ body }) => {
      const { id, version } = JSON.parse(body) as { id: number; version: number };
      const before = versions.get(id) ?? 0;
      versions.set(id, version);
      return version !== before + 1;
    });
    expect(outOfOrder).toEqual([]);
  }, 60_000);

  it('writes nothing while there are no new events, neither for numbering nor for a follower that polls (slow)', async () => {
    await service.change(1);
    await service.numberAll();
    const read = () => service.feed.readFor('books', { seq: 1 }, 10);
    await read();
    // A row lock would be visible in xmax.
    const rows = () =>
      service.database.query(
        `SELECT 'feed_head' AS of, ctid::text, xmin::text, xmax::text FROM feed_head
         UNION ALL SELECT 'feed_followers', ctid::text, xmin::text, xmax::text FROM feed_followers`,
      );
    const before = await rows();
    expect(before).toHaveLength(2);
    expect(await service.feed.number()).toBeUndefined();
    expect(await read()).toMatchObject({ head: 1, next: 2, events: [] });
    expect(await rows()).toEqual(before);
    await service.change(1);
    expect(await service.feed.number()).toMatchObject({ head: 2, after: { seq: 1 }, events: [{ seq: 2 }] });
  });

  describe('whose database was failed over to a replica that lacked the last events', () => {
    const failOver = async (): Promise<void> => {
      await service.change(1);
      await service.change(1);
      await service.numberAll();
      // The replica had only the first event; its promotion began a new timeline.
      await service.database.query('DELETE FROM thing_events WHERE feed_seq > 1');
      await service.database.query(`UPDATE feed_head SET head = 1, timeline = '000000FF'`);
    };

    it('never assigns a number twice', async () => {
      const { epoch } = await service.feed.head();
      await failOver();
      await service.change(2);
      const [message] = await service.numberAll();
      expect(message?.events).toHaveLength(1);
      expect(message!.events[0]!.seq).toBeGreaterThan(2);
      expect(message!.epoch).not.toBe(epoch);
      expect((await service.feed.read({ seq: 2, id: randomUUID() }, 10)).events).toMatchObject([{ seq: message!.events[0]!.seq }]);
    });

    it('assigns no number in the statement that appends events, until a new epoch has begun', async () => {
      const assign = (): Promise<{ head: number }[]> => service.database.transaction((tx) => tx.query<{ head: number }>(assignNumbers('1')));
      await failOver();
      expect(await assign()).toEqual([]);
      await service.change(2);
      const message = await service.feed.number();
      expect(await assign()).toMatchObject([{ head: message!.head + 1 }]);
    });

    it('begins one new epoch, with the next event', async () => {
      const { epoch } = await service.feed.head();
      await failOver();
      expect(await service.feed.number()).toBeUndefined();
      await service.change(2);
      const message = await service.feed.number();
      expect(message?.epoch).not.toBe(epoch);
      expect(message?.events).toHaveLength(1);
      expect(await service.feed.number()).toBeUndefined();
    });

    it('says that nothing is lost after the last event that it has, and only there', async () => {
      await failOver();
      const [{ id } = { id: '' }] = (await service.feed.read({ seq: 0 }, 1)).events;
      expect((await service.feed.read({ seq: 1, id }, 10)).nothingLost).toBeUndefined();
      await service.change(2);
      await service.numberAll();
      const next = await service.feed.read({ seq: 1, id }, 10);
      expect(next).toMatchObject({ matches: true, nothingLost: true, events: [{ seq: next.next }] });
      expect((await service.feed.read({ seq: 0 }, 10)).nothingLost).toBeUndefined();
      for (const lost of [{ seq: 1, id: randomUUID() }, { seq: 2, id: randomUUID() }, { seq: 3 }]) {
        expect((await service.feed.read(lost, 10)).nothingLost).toBeUndefined();
      }
      await service.database.query('UPDATE feed_kept SET oldest = $1', [next.next + 1]);
      expect(await service.feed.read({ seq: 1, id }, 10)).not.toHaveProperty('nothingLost');
    });

    it('leaves numbers out also if a follower has lost events', async () => {
      await failOver();
      const { head } = await service.feed.startEpoch(2, 1);
      expect(head).toBeGreaterThan(1_000);
      await service.change(2);
      expect(await service.feed.number()).toMatchObject({ events: [{ seq: head + 1 }] });
      expect(await service.feed.read({ seq: 2, id: randomUUID() }, 10)).toMatchObject({ matches: true, next: head + 1 });
    });
  });

  it('numbers events only after their commit', async () => {
    await service.change(1);
    await service.numberAll();
    let committed: (() => void) | undefined;
    const open = service.database.transaction(async (tx) => {
      await tx.execute(
        `INSERT INTO thing_events (thing_id, version, owner_id, event_id, body) VALUES (2, 1, gen_random_uuid(), gen_random_uuid(), '{}')`,
      );
      await new Promise<void>((resolve) => (committed = resolve));
    });
    await service.change(3);
    await service.numberAll();
    expect((await service.numbered()).map((event) => event.seq)).toEqual([1, 2]);
    committed?.();
    await open;
    await service.numberAll();
    expect((await service.numbered()).map((event) => event.seq)).toEqual([1, 2, 3]);
  });

  it('that begins a new epoch numbers any number of events again, and no statement changes more than 20,000 (slow)', async () => {
    await service.database.query(
      `INSERT INTO thing_events (thing_id, version, owner_id, event_id, body, feed_seq)
       SELECT 1, n, gen_random_uuid(), gen_random_uuid(), '{}', n FROM generate_series(1, 45000) AS n`,
    );
    await service.database.query('UPDATE feed_head SET head = 45000');
    await service.database.query(`
      CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF (SELECT count(*) FROM changed) > 20000 THEN RAISE EXCEPTION 'too many rows for one statement'; END IF;
        RETURN NULL;
      END $$`);
    await service.database.query(
      `CREATE TRIGGER refuse_many AFTER UPDATE ON thing_events REFERENCING NEW TABLE AS changed
       FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()`,
    );
    expect(await service.feed.startEpoch(45_010, 100)).toMatchObject({ head: 45_010 });
    const seqs = (await service.numbered()).map(({ seq }) => seq);
    expect([seqs.length, seqs.at(-1)]).toEqual([100, 100]);
    await service.numberAll();
    const renumbered = (await service.numbered()).map(({ seq }) => seq);
    expect([renumbered.length, renumbered[100], renumbered.at(-1)]).toEqual([45_000, 45_011, 89_910]);
  });

  describe('that continues in a new epoch after a restore', () => {
    // It agreed with its follower up to 4 of the 6 events that were left; the follower had 10.
    beforeEach(async () => {
      await service.change(1, 2, 3, 4, 5, 6);
      await service.numberAll();
      await service.feed.startEpoch(10, 4);
      await service.numberAll();
    });

    it('takes positions in the lost history for its own, and none before, at its end or after it', async () => {
      expect((await service.numbered()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 11, 12]);
      const reads = await Promise.all([3, 4, 5, 10, 11, 12].map((seq) => service.feed.read({ seq, id: randomUUID() }, 10)));
      expect(reads.map(({ matches }) => matches)).toEqual([false, false, true, true, false, false]);
      expect(reads.map(({ next }) => next)).toEqual([4, 11, 11, 11, 12, 13]);
      expect(reads[0]).toMatchObject({ epochBegins: 11, epoch: (await service.feed.head()).epoch });
    });

    it('begins none when the call is repeated, and another one when the follower has more', async () => {
      const head = await service.feed.head();
      expect(await service.feed.startEpoch(10, 4)).toEqual(head);
      expect(await service.feed.startEpoch(9, 4)).toEqual(head);
      expect(await service.feed.startEpoch(11, 4)).toMatchObject({ head: 12 });
      expect((await service.feed.head()).epoch).not.toBe(head.epoch);
    });

    it('serves no page with events of both epochs', async () => {
      const seqsAfter = async (seq: number): Promise<number[]> => (await service.feed.read({ seq }, 10)).events.map((event) => event.seq);
      expect(await seqsAfter(0)).toEqual([1, 2, 3, 4]);
      expect(await seqsAfter(4)).toEqual([11, 12]);
    });
  });

  it('continues at its new numbers for positions before the events that it retained when it was restored', async () => {
    await service.change(1, 2, 3, 4, 5, 6);
    await service.numberAll();
    await service.database.query('UPDATE thing_events SET body = NULL WHERE feed_seq < 5');
    await service.database.query('UPDATE feed_kept SET oldest = 5');
    await service.feed.startEpoch(10, 2);
    await service.numberAll();
    for (const seq of [0, 1, 2, 3, 7]) {
      expect(await service.feed.read({ seq }, 10)).toMatchObject({ next: 11, events: [{ seq: 11 }, { seq: 12 }] });
    }
  });

  it('knows what a follower has confirmed last, also when that is less, and that it was there (slow)', async () => {
    const followers = () => service.database.query(`SELECT passed, seen_at > now() - interval '10 seconds' AS "isHere" FROM feed_followers`);
    await service.feed.readFor('books', { seq: 7 }, 1);
    await service.feed.readFor('books', { seq: 3 }, 1);
    expect(await followers()).toEqual([{ passed: 3, isHere: true }]);
    await service.database.query(`UPDATE feed_followers SET seen_at = now() - interval '11 seconds'`);
    expect(await followers()).toEqual([{ passed: 3, isHere: false }]);
    await service.feed.readFor('books', { seq: 3 }, 1);
    expect(await followers()).toEqual([{ passed: 3, isHere: true }]);
  });

  it('assigns no number in the statement that appends events while another transaction numbers, and does not wait for it', async () => {
    const assign = (): Promise<{ head: number }[]> => service.database.transaction((tx) => tx.query<{ head: number }>(assignNumbers('1')));
    await service.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM feed_head FOR UPDATE');
      expect(await assign()).toEqual([]);
    });
    expect(await assign()).toMatchObject([{ head: 1 }]);
  });

  it('serves pages that continue where the last one ended, and recognises positions of its own history', async () => {
    await service.change(...Array.from({ length: 25 }, (_, n) => n + 1));
    await service.numberAll();
    const all = await service.numbered();
    const first = await service.feed.read({ seq: 0 }, 10);
    expect(first).toMatchObject({ head: 25, matches: true, next: 1 });
    expect(first.events.map((event) => event.id)).toEqual(all.slice(0, 10).map((event) => event.id));
    const last = { seq: 10, id: all[9]!.id };
    expect((await service.feed.read(last, 100)).events.map((event) => event.seq)).toEqual(all.slice(10).map((one) => one.seq));
    expect(await service.feed.read({ seq: 10, id: all[8]!.id }, 1)).toMatchObject({ matches: false });
    expect(await service.feed.read({ seq: 26, id: all[8]!.id }, 1)).toMatchObject({ matches: false, events: [] });
  });
});
