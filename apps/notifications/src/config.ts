import { type Config, port, text, url } from '@plant-shop/platform/config';
import { serviceSettings } from '@plant-shop/platform/service/settings';

export const databaseSetting = {
  databaseUrl: url('NOTIFICATIONS_DATABASE_URL', ['postgres', 'postgresql'], {
    description: "The notifications service's own database",
  }),
};

export const notificationsSettings = {
  ...serviceSettings,
  ...databaseSetting,
  streamHost: text('STREAM_HOST', { description: 'Address of the stream port', default: '127.0.0.1' }),
  streamPort: port('STREAM_PORT', { description: 'Port of the event stream', default: '8081' }),
};

export type NotificationsConfig = Config<typeof notificationsSettings>;
