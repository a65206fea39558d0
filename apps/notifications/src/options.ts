import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { NotificationsConfig } from './config.js';
import type { Role } from './role.js';
import { toWebhooksOptions, type WebhooksOptions } from './webhooks/endpoints/options.js';

/** What the parts of notifications need of its settings, in their own terms. */
export interface NotificationsOptions {
  readonly role: Role;
  readonly stream: {
    readonly host: string;
    readonly port: number;
    /** As clients know it. */
    readonly publicUrl: string;
    readonly maxConnections: number;
    readonly maxConnectionsPerCredential: number;
    /** 0: none. */
    readonly maxAgeSeconds: number;
    readonly ringEvents: number;
    readonly pingSeconds: number;
    readonly corsOrigins: readonly string[];
  };
  /** How long events stay in the log at least. */
  readonly eventLog: { readonly keepMs: number };
  readonly webhooks: WebhooksOptions;
  /** Address of the API as clients know it, without a slash at its end. */
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
