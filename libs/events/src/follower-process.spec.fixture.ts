import { writeSync } from 'node:fs';
import { store } from '@plant-shop/contracts/store';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { Follower } from './follower.js';

// A follower in its own process, for tests that kill it: `node follower-process.spec.fixture.js <database> <nats> <hold>`. It
// prints each advance on a line. With `insert` it prints `held` and blocks after writing and before the commit; with `commit`,
// after the commit and before the announcement. Test code only.

const [, , databaseUrl = '', natsUrl = '', hold = ''] = process.argv;
const logger = createLogger('bookkeeping', 'fatal');
const print = (line: string): void => void writeSync(1, `${line}\n`);

const database = await Database.connect(
  { url: databaseUrl, applicationName: 'killed', poolSize: 2, migrations: new URL('../test-migrations/', import.meta.url) },
  logger,
);
const rpc = new RpcClient(await Nats.connect({ url: natsUrl, name: 'notifications' }, logger), 'notifications', logger);
const context = (): RpcContext => new RpcContext('test', Deadline.in(5_000));

const follower = new Follower(
  database,
  {
    feed: {
      read: ({ seq, id }, limit) =>
        rpc.call(store.feedRead, { follower: 'bookkeeping', after: seq, ...(id !== undefined && { afterId: id }), limit }, context()),
      startEpoch: (known, agreed) => rpc.call(store.startEpoch, { known, agreed }, context()),
    },
    onAdvance: async (tx, { after, upTo }) => {
      await tx.execute('INSERT INTO bookings SELECT event_id, body FROM event_log WHERE seq > $1 AND seq <= $2', [after, upTo]);
      if (hold === 'insert') {
        print('held');
        await new Promise(() => undefined);
      }
      return () => {
        print(hold === 'commit' ? 'held' : JSON.stringify({ after, upTo }));
        if (hold === 'commit') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      };
    },
  },
  logger,
);
follower.start();
