import { type Config, integer, port, text, url } from '@plant-shop/platform/config';
import { serviceSettings } from '@plant-shop/platform/service/settings';
import { webhookSettings } from './webhooks/settings.js';

export const databaseSetting = {
  databaseUrl: url('NOTIFICATIONS_DATABASE_URL', ['postgres', 'postgresql'], { description: "Notifications' own database" }),
};

export const notificationsSettings = {
  ...serviceSettings,
  ...databaseSetting,
  streamHost: text('STREAM_HOST', { description: 'Address that the event stream listens on', default: '127.0.0.1' }),
  streamPort: port('STREAM_PORT', { description: 'Port of the event stream', default: '8081' }),
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
