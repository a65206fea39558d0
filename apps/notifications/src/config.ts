import { choice, type Config, integer, port, text, url } from '@plant-shop/platform/config';
import { corsOrigins, databaseCa, databasePoolSize, databaseUrl, ownerUrl, serviceSettings } from '@plant-shop/platform/service/settings';
import { roles } from './role.js';
import { webhookSettings } from './webhooks/settings.js';

export const databaseSetting = {
  databaseUrl: databaseUrl('NOTIFICATIONS_DATABASE_URL', "Notifications' own database"),
  databaseCa,
};

/** What `migrate.ts` reads. */
export const migrationSettings = {
  ...databaseSetting,
  ownerUrl: ownerUrl('NOTIFICATIONS_MIGRATION_DATABASE_URL'),
};

export const notificationsSettings = {
  ...serviceSettings,
  ...databaseSetting,
  databasePoolSize: databasePoolSize('NOTIFICATIONS_DATABASE_POOL_SIZE', 10),
  role: choice('NOTIFICATIONS_ROLE', roles, {
    description:
      '`both`, or one of them alone: `stream` serves clients of the stream, `webhooks` makes and sends webhook deliveries and answers `/v3/webhooks`. Any ' +
      'mixture of replicas works; without one of a role, what it does waits',
    default: 'both',
  }),
  streamHost: text('STREAM_HOST', { description: 'Address that the event stream listens on', default: '127.0.0.1' }),
  streamPort: port('STREAM_PORT', { description: 'Port of the event stream', default: '8081' }),
  streamPublicUrl: url('STREAM_PUBLIC_URL', ['ws', 'wss'], {
    description: 'Where clients reach the stream: its AsyncAPI document says so',
    default: 'ws://127.0.0.1:8081',
  }),
  streamMaxConnections: integer('STREAM_MAX_CONNECTIONS', {
    description: 'Clients of the stream that a replica takes; beyond it they are answered 503',
    default: '20000',
    min: 1,
    max: 1_000_000,
  }),
  streamMaxConnectionsPerCredential: integer('STREAM_MAX_CONNECTIONS_PER_CREDENTIAL', {
    description: 'The same with one credential; beyond it they are answered 429',
    default: '10000',
    min: 1,
    max: 1_000_000,
  }),
  streamMaxAgeSeconds: integer('STREAM_MAX_AGE_SECONDS', {
    description:
      'Age at which a connection that can resume is closed (4200), at the latest, in seconds; each at a random moment from half of it on. New ' +
      'replicas get their share so. 0: never',
    default: '3600',
    min: 0,
    max: 604_800,
  }),
  streamRingEvents: integer('STREAM_RING_EVENTS', {
    description: 'Newest events that a replica holds in memory; who resumes from before them is served from the log',
    default: '10000',
    min: 10,
    max: 1_000_000,
  }),
  streamPingSeconds: integer('STREAM_PING_SECONDS', {
    description: 'How often clients of the stream are pinged, in seconds; for an answer they have a third of it',
    default: '25',
    min: 2,
    max: 300,
  }),
  corsOrigins: corsOrigins('Origins whose pages may read the stream other than by WebSocket, or `*` for all; none by default'),
  eventLogRetentionDays: integer('EVENT_LOG_RETENTION_DAYS', {
    description: 'How long events stay in the log at least, for clients that resume, in days',
    default: '30',
    min: 7,
    max: 3_650,
  }),
  ...webhookSettings,
  publicUrl: url('PUBLIC_URL', ['http', 'https'], {
    description: 'Where clients reach the API: types of problems are built from it',
  }),
};

export type NotificationsConfig = Config<typeof notificationsSettings>;
