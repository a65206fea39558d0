import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { NotificationsConfig } from './config.js';
import type { Role } from './role.js';
import { toWebhooksOptions, type WebhooksOptions } from './webhooks/endpoints/options.js';

/** Options of the parts of notifications, derived from the settings. */
export interface NotificationsOptions {
  readonly role: Role;
  readonly stream: {
    readonly host: string;
    readonly port: number;
    /** Public address of the stream. */
    readonly publicUrl: string;
    readonly maxConnections: number;
    readonly maxConnectionsPerCredential: number;
    /** 0 for no maximum age. */
    readonly maxAgeSeconds: number;
    readonly ringEvents: number;
    readonly pingSeconds: number;
    readonly corsOrigins: readonly string[];
  };
  /** `keepMs`: minimum retention of events in the log. */
  readonly eventLog: { readonly keepMs: number };
  readonly webhooks: WebhooksOptions;
  /** Public address of the API, without a trailing slash. */
  readonly publicUrl: string;
}

export const NOTIFICATIONS_OPTIONS = Symbol('notifications options');

export const toOptions = (
  config: Omit<NotificationsConfig, keyof ServiceConfig>,
  isProduction: boolean,
): NotificationsOptions => ({
  role: config.role,
  stream: {
    host: config.streamHost,
    port: config.streamPort,
    publicUrl: config.streamPublicUrl,
    maxConnections: config.streamMaxConnections,
    maxConnectionsPerCredential: config.streamMaxConnectionsPerCredential,
    maxAgeSeconds: config.streamMaxAgeSeconds,
    ringEvents: config.streamRingEvents,
    pingSeconds: config.streamPingSeconds,
    corsOrigins: config.corsOrigins,
  },
  eventLog: { keepMs: config.eventLogRetentionDays * 86_400_000 },
  webhooks: toWebhooksOptions(config, isProduction),
  publicUrl: config.publicUrl,
});
