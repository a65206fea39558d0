import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@plant-shop/testing/until';
import type { FeedEvent } from './feed.js';
import type { RemoteFeed } from './follower.js';
import { FollowingService, ThingsService } from './things.spec.fixture.js';

describe('a follower', () => {
  let things: ThingsService;
  let service: FollowingService;
  let pulls = 0;
  const remote: RemoteFeed = {
    read: (position, limit) => {
      pulls++;
      return things.feed.read(position, limit);
    },
    startEpoch: (known, agreed) => things.feed.startEpoch(known, agreed),
  };
  beforeEach(async () => {
    things = await ThingsService.open();
    service = await FollowingService.open(remote);
  });
  afterEach(async () => {
    await service.close();
    await things.close();
  });

  it('replaces what the log has beyond its end, the same events or others, and delivers all of it (slow)', async () => {
    await things.change(1, 2, 3);
    await things.numberAll();
    await service.follower.run();
    expect(await service.watermark()).toBe(3);
    await things.change(1, 2, 3);
    await things.numberAll();
    const ids = (await things.numbered()).map(({ id }) => id);
    await service.database.query(
      `INSERT INTO event_log (seq, event_id, subject, body, repeats) SELECT seq, id, gen_random_uuid(), '{}', false FROM unnest($1::bigint[], $2::uuid[]) AS t (seq, id)`,
      [[4, 5], [randomUUID(), ids[4]]],
    );
    service.follower.start();
    await until(async () => (await service.watermark()) === 6);
    expect(await service.log()).toEqual(await things.numbered());
  });

  it('that receives a known number with another event asks the feed at once which is right (slow)', async () => {
    await things.change(1, 2, 3);
    const [message] = await things.numberAll();
    const [first, second, third] = message!.events as [FeedEvent, FeedEvent, FeedEvent];
    await service.follower.run();
    const pullsFor = async (events: readonly FeedEvent[]): Promise<number> => {
      const before = pulls;
      service.follower.receive({ ...message!, after: { seq: 1, id: first.id }, events });
      await service.follower.run();
      return pulls - before;
    };
    expect(await pullsFor([second, third])).toBe(0);
    expect(await pullsFor([{ ...second, id: randomUUID() }, third])).toBe(1);
  });
});
