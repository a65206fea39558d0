import type { Provider } from '@nestjs/common';
import { CredentialChecker } from '@plant-shop/credentials/credential-checker';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Admission } from './admission.js';
import { Connections } from './connections.js';
import { CredentialWatch } from './credential-watch.js';
import { Delivery } from './delivery.js';
import { LogTail } from './log-tail.js';
import { StreamMetrics } from './metrics.js';
import { OrderEventsGateway } from './order-events.gateway.js';
import { Pages } from './pages.js';
import { Refusals } from './refusals.js';
import { Rounds } from './rounds.js';
import { Sender } from './sender.js';
import { StartingPlaces } from './starting-places.js';
import { StreamAdapter } from './stream.adapter.js';
import { StreamServer } from './stream-server.js';

/** How long identity may take to check a credential. */
const requestBudgetMs = 5_000;

/** What the stream is made of. */
export const streamParts = (publicUrl: string): Provider[] => [
  {
    provide: CredentialChecker,
    inject: [RpcClient, RevocationLog],
    useFactory: (rpc: RpcClient, log: RevocationLog) => new CredentialChecker(rpc, log, { publicUrl, requestBudgetMs }),
  },
  StreamMetrics,
  LogTail,
  StartingPlaces,
  Sender,
  Rounds,
  Delivery,
  CredentialWatch,
  Connections,
  Pages,
  Admission,
  Refusals,
  StreamServer,
  StreamAdapter,
  OrderEventsGateway,
];
