import { broadcasts } from '@plant-shop/contracts/broker';
import { store } from '@plant-shop/contracts/store';
import type { Logger } from '@plant-shop/platform/logging';
import type { Nats } from '@plant-shop/platform/nats';
import type { Database } from '@plant-shop/platform/postgres/database';
import type { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import type { FeedMessage } from './feed.js';
import { Follower, type RemoteFeed } from './follower.js';

// The README's example, which a test runs.
export function followForBookkeeping(database: Database, nats: Nats, rpc: RpcClient, logger: Logger): Follower {
  const context = () => new RpcContext('bookkeeping', Deadline.in(5_000));
  const feed: RemoteFeed = {
    read: ({ seq, id }, limit) =>
      rpc.call(store.feedRead, { follower: 'bookkeeping', after: seq, ...(id && { afterId: id }), limit }, context()),
    startEpoch: (known, agreed) => rpc.call(store.startEpoch, { known, agreed }, context()),
  };
  const book = 'INSERT INTO bookings SELECT event_id, body FROM event_log WHERE seq > $1 AND seq <= $2 AND NOT repeats';
  const follower = new Follower(
    database,
    {
      feed,
      onAdvance: async (tx, { after, upTo }) => {
        await tx.execute(book, [after, upTo]);
        return () => logger.info({ upTo }, 'booked');
      },
    },
    logger,
  );
  nats.listen(broadcasts.feed.subject, (message) => follower.receive(message.json<FeedMessage>()));
  follower.start();
  return follower;
}
