/** What a replica does. Every replica copies the store's feed into the event log, so each role works without the other. */
export const roles = ['both', 'stream', 'webhooks'] as const;

export type Role = (typeof roles)[number];

/** How many deliveries may wait before requests of the owner add no more. Events of orders are enqueued beyond it. */
export interface PendingLimits {
  readonly perOwner: number;
  readonly perEndpoint: number;
}

/** Returns whether a replica of this role serves stream clients. */
export const hasStream = (role: Role): boolean => role !== 'webhooks';

/** Returns whether a replica of this role enqueues and sends webhook deliveries, and answers the operations of webhooks. */
export const hasWebhooks = (role: Role): boolean => role !== 'stream';

/** Limits of one endpoint, across replicas. */
export interface QueueLimits {
  /** Concurrent attempts. */
  readonly inFlight: number;
  /** Attempts per second. */
  readonly perSecond: number;
  /** Consecutive attempts without a prompt response after which the endpoint gets one at a time. */
  readonly silentAttempts: number;
  /** The pause after each of those attempts. While there is no response at all, it doubles up to `longestPauseMs`. */
  readonly pauseMs: number;
  readonly longestPauseMs: number;
}

/** Options of webhooks, derived from the settings. */
export interface WebhooksOptions {
  /** Encrypt the endpoints' signing secrets: the current key, then former ones that still decrypt. */
  readonly encryptionKeys: readonly string[];
  /** Maximum number of endpoints of a user. */
  readonly perUser: number;
  /** Whether targets must use https, unless `allowedTargets` lists them. */
  readonly httpsOnly: boolean;
  /** Targets that may be called although they are not public, each as `host:port` or `host:*`. */
  readonly allowedTargets: readonly string[];
  /** Concurrent attempts of one owner on this replica while no other owner has any. */
  readonly inFlight: number;
  readonly limits: QueueLimits;
  /** Posts a second to one host, of all endpoints, owners and replicas, before it has shown that it takes more. */
  readonly ratePerHost: number;
  readonly pending: PendingLimits;
  /** Factor of the pauses between attempts, above 0 and at most 1; below 1 only in tests. `failingMs` and `holdMs` have it already. */
  readonly timeScale: number;
  /** Time limit of an attempt, from the lookup of the name to the end of the body. */
  readonly attemptLimitMs: number;
  /** Part of that limit for the body of the response. */
  readonly bodyLimitMs: number;
  /** Length of a lease. After it, another worker may claim a delivery whose worker crashed or lost the database. */
  readonly leaseMs: number;
  /** Pause between two polls for work that was not announced. */
  readonly pollMs: number;
  /** An endpoint without a success for this long is disabled. */
  readonly failingMs: number;
  /** How long deliveries of a disabled endpoint are held. */
  readonly holdMs: number;
  /** How long ended deliveries are kept. */
  readonly keepEndedMs: number;
  /** Pause between two sweeps. */
  readonly sweepMs: number;
  /** Maximum number of deliveries of a step, and the time limit of each of its statements. */
  readonly stepRows: number;
  readonly stepLimitMs: number;
  /** Pause between two checks of all owners: the longest time after which an owner's lost permission is noticed. */
  readonly checkAllOwnersMs: number;
  /** Certificate authorities in addition to the system's. */
  readonly ca?: string;
}

/** Options of the parts of notifications, derived from the settings. */
export interface NotificationsOptions {
  readonly sandbox: boolean;
  readonly role: Role;
  readonly stream: {
    readonly host: string;
    readonly port: number;
    /** Public address of the stream. */
    readonly publicUrl: string;
    readonly maxConnections: number;
    readonly maxConnectionsPerUser: number;
    /** Sockets of one network whose users are not known yet. */
    readonly maxUnknownPerNetwork: number;
    /** Files that this process may open; Infinity if unknown. */
    readonly openFiles: number;
    /** 0 for no maximum age. */
    readonly maxAgeSeconds: number;
    readonly ringEvents: number;
    readonly pingSeconds: number;
    readonly corsOrigins: readonly string[];
    readonly silentPerNetwork: number;
    readonly trustedProxies: readonly string[];
  };
  /** `keepMs`: minimum retention of events in the log. */
  readonly eventLog: { readonly keepMs: number };
  readonly webhooks: WebhooksOptions;
  /** Public address of the API, without a trailing slash. */
  readonly publicUrl: string;
}

/** Of a page of the stream: events by default and at most, and for how long it may wait for the first. */
export const defaultLimit = 100;
export const maxLimit = 1_000;
export const maxWaitSeconds = 30;

export const NOTIFICATIONS_OPTIONS = Symbol('notifications options');
