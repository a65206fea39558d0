import type { Provider } from '@nestjs/common';
import { CredentialChecker } from '@plant-shop/credentials/credential-checker';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { Logger } from '@plant-shop/platform/logging';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { ConnectionLimit, leastSockets } from '@plant-shop/platform/service/connection-limit';
import { Registry } from 'prom-client';
import type { NotificationsOptions } from '../options.js';
import { LogTail } from '../log/log-tail.js';
import { RingMetrics } from '../log/ring.js';
import { Broadcaster } from './broadcast/broadcaster.js';
import { CatchUp } from './broadcast/catch-up.js';
import { Connections } from './subscribers/connections.js';
import { CredentialWatch } from './subscribers/credential-watch.js';
import { FrameSender } from './broadcast/frame-sender.js';
import { StreamMetrics } from './metrics.js';
import { OrderEventsGateway } from './transport/order-events.gateway.js';
import { Pages } from './transport/pages.js';
import { ProblemResponder } from './transport/problem-responder.js';
import { StartingPositions } from './subscribers/starting-positions.js';
import { SocketLimits } from './transport/socket-limits.js';
import { StreamServer } from './transport/stream-server.js';
import { StreamAdapter } from './transport/stream.adapter.js';

/** How long a check of a credential may take at identity. */
const requestBudgetMs = 5_000;

/** The parts of a replica that serves the stream. */
export const streamProviders = ({ publicUrl, stream }: NotificationsOptions, logger: Logger): Provider[] => [
  {
    provide: CredentialChecker,
    inject: [RpcClient, RevocationLog],
    useFactory: (rpc: RpcClient, log: RevocationLog) => new CredentialChecker(rpc, log, { publicUrl, requestBudgetMs }),
  },
  {
    provide: ConnectionLimit,
    inject: [Registry],
    useFactory: (metrics: Registry) => new ConnectionLimit({ ...stream, sockets: Math.max(leastSockets, stream.maxConnections) }, metrics, logger),
  },
  StreamMetrics,
  RingMetrics,
  LogTail,
  StartingPositions,
  FrameSender,
  Broadcaster,
  CatchUp,
  CredentialWatch,
  Connections,
  Pages,
  ProblemResponder,
  SocketLimits,
  StreamServer,
  StreamAdapter,
  OrderEventsGateway,
];
