import { choice, type Config, integer, port, text, url } from '@plant-shop/platform/config';
import type { ServiceConfig } from '@plant-shop/platform/service/service';
import { openFileLimit } from '@plant-shop/platform/service/connection-limit';
import { corsOrigins, databaseCa, databasePoolSize, databaseUrl, ownerUrl, sandbox, serviceSettings, silentConnections, trustedProxies } from '@plant-shop/platform/service/settings';
import { type NotificationsOptions, roles } from './options.js';
import { clientsWithin } from './stream/transport/socket-limits.js';
import { mailSettings, toMailOptions } from './mail/settings.js';
import { allowedTargets, toWebhooksOptions, webhookSettings } from './webhooks/endpoints/settings.js';

const databaseSetting = {
  databaseUrl: databaseUrl('NOTIFICATIONS_DATABASE_URL', "Notifications' own database"),
  databaseCa,
  sandbox,
};

/** Settings of `migrate.ts`. */
export const migrationSettings = {
  ...databaseSetting,
  ownerUrl: ownerUrl('NOTIFICATIONS_MIGRATION_DATABASE_URL'),
};

const destinationAllowedTargets = allowedTargets('DESTINATION_ALLOWED_TARGETS', 'Message brokers allowed outside the public internet, or without TLS: `host:port`, or `host:*` for all ports');
const destinationCa = text('DESTINATION_CA', { description: 'File (PEM) of CAs for the certificates of message brokers, besides those that Node knows', default: '' });

export const notificationsSettings = {
  ...serviceSettings,
  ...databaseSetting,
  databasePoolSize: databasePoolSize('NOTIFICATIONS_DATABASE_POOL_SIZE', 10),
  role: choice('NOTIFICATIONS_ROLE', roles, {
    description:
      '`stream`, `webhooks` (which answers all operations), `mail`, `export` (to destinations), or `both`: all of them. Work of a missing role waits',
    default: 'both',
  }),
  streamHost: text('STREAM_HOST', { description: 'Listen address of the event stream', default: '127.0.0.1' }),
  streamPort: port('STREAM_PORT', { description: 'Port of the event stream', default: '8081' }),
  streamPublicUrl: url('STREAM_PUBLIC_URL', ['ws', 'wss'], {
    description: 'Public address of the stream, for its AsyncAPI document',
    default: 'ws://127.0.0.1:8081',
  }),
  streamMaxConnections: integer('STREAM_MAX_CONNECTIONS', {
    description: 'Stream clients per replica, pages that wait included; further ones get 503. At most four fifths of the files that the process may open',
    default: '20000',
    min: 1,
    max: 1_000_000,
  }),
  streamsPerUser: integer('STREAMS_PER_USER', {
    description: 'Stream clients per replica and user, over all their credentials, pages that wait included; further ones get 429',
    default: '1000',
    min: 1,
    max: 1_000_000,
  }),
  streamsPerNetwork: integer('STREAMS_PER_NETWORK', {
    description:
      'Connections per replica and network (IPv4 address, IPv6 /64) whose credentials are not checked yet; further ones get 429',
    default: '100',
    min: 1,
    max: 1_000_000,
  }),
  streamMaxAgeSeconds: integer('STREAM_MAX_AGE_SECONDS', {
    description:
      'Maximum age of a resumable connection, in seconds; it is closed (4200) at a random moment from half of it on. 0: unlimited',
    default: '3600',
    min: 0,
    max: 604_800,
  }),
  streamRingEvents: integer('STREAM_RING_EVENTS', {
    description:
      'Newest events cached in memory, at most 32 MiB of them (about 25,000); clients that resume earlier are served from the log',
    default: '10000',
    min: 10,
    max: 1_000_000,
  }),
  streamPingSeconds: integer('STREAM_PING_SECONDS', {
    description: 'Interval of pings to stream clients, in seconds; they must answer within a third of it',
    default: '25',
    min: 2,
    max: 300,
  }),
  corsOrigins: corsOrigins('Origins whose pages may read the stream other than by WebSocket: `loopback` for pages on this machine, `*` for all'),
  silentConnections,
  trustedProxies: trustedProxies('Proxies in front of the stream, as for the gateway'),
  eventLogRetentionDays: integer('EVENT_LOG_RETENTION_DAYS', {
    description: 'Minimum retention of events in the log, for clients that resume, in days',
    default: '30',
    min: 7,
    max: 3_650,
  }),
  ...webhookSettings,
  ...mailSettings,
  destinationAllowedTargets,
  destinationCa,
  publicUrl: url('PUBLIC_URL', ['http', 'https'], {
    description: 'Public address of the API: base of problem types',
  }),
};

export type NotificationsConfig = Config<typeof notificationsSettings>;

export const toOptions = (
  config: Omit<NotificationsConfig, keyof ServiceConfig>,
  isProduction: boolean,
  openFiles = openFileLimit(),
): NotificationsOptions => ({
  sandbox: config.sandbox,
  role: config.role,
  stream: {
    host: config.streamHost,
    port: config.streamPort,
    publicUrl: config.streamPublicUrl,
    maxConnections: Math.min(config.streamMaxConnections, clientsWithin(openFiles)),
    maxConnectionsPerUser: config.streamsPerUser,
    maxUnknownPerNetwork: config.streamsPerNetwork,
    openFiles,
    maxAgeSeconds: config.streamMaxAgeSeconds,
    ringEvents: config.streamRingEvents,
    pingSeconds: config.streamPingSeconds,
    corsOrigins: config.corsOrigins,
    silentPerNetwork: config.silentConnections,
    trustedProxies: config.trustedProxies,
  },
  eventLog: { keepMs: config.eventLogRetentionDays * 86_400_000 },
  webhooks: toWebhooksOptions(config, isProduction),
  mail: toMailOptions(config, isProduction, config.webhookTimeScale),
  destinations: { allowedTargets: config.destinationAllowedTargets, ca: config.destinationCa },
  publicUrl: config.publicUrl,
});
