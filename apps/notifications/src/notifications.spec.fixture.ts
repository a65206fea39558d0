import { type Config, readConfig } from '@plant-shop/platform/config';
import { notificationsSettings } from './config.js';

/** Returns the settings of production, with the variables that a test overrides. */
export const testSettings = (
  databaseUrl: string,
  variables: Readonly<Record<string, string>> = {},
): Config<typeof notificationsSettings> =>
  readConfig(notificationsSettings, {
    NATS_URL: 'nats://given.by.the.test',
    NOTIFICATIONS_DATABASE_URL: databaseUrl,
    NOTIFICATIONS_SECRET: 'a-secret-of-the-tests-of-32-characters-or-more',
    STREAM_PORT: '0',
    PUBLIC_URL: 'https://shop.test',
    ...variables,
  });
