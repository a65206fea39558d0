/** What a replica does. Every replica copies the store's feed into the event log, so each role works without the other. */
export const roles = ['both', 'stream', 'webhooks', 'mail', 'export'] as const;

export type Role = (typeof roles)[number];

/** How many deliveries may wait before requests of the owner add no more. Events of orders are enqueued beyond it. */
export interface PendingLimits {
  readonly perOwner: number;
  readonly perEndpoint: number;
}

/** Returns whether a replica of this role serves stream clients. */
export const hasStream = (role: Role): boolean => role === 'both' || role === 'stream';

/** Returns whether a replica of this role enqueues and sends webhook deliveries, and answers all operations: those of webhooks, mail and destinations. */
export const hasWebhooks = (role: Role): boolean => role === 'both' || role === 'webhooks';

/** Returns whether a replica of this role enqueues and sends mail. */
export const hasMail = (role: Role): boolean => role === 'both' || role === 'mail';

/** Returns whether a replica of this role publishes to destinations. */
export const hasExport = (role: Role): boolean => role === 'both' || role === 'export';

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

/** Options of mail, derived from the settings. */
export interface MailOptions {
  /** Takes the mail. Undefined: the shop sends none. */
  readonly server:
    | {
        readonly host: string;
        readonly port: number;
        /** TLS from the first byte. */
        readonly isTls: boolean;
        /** Whether nothing is sent without TLS. */
        readonly requireTls: boolean;
        readonly auth?: { readonly user: string; readonly pass: string };
      }
    | undefined;
  /** The sender's address. */
  readonly from: string;
  /** What mails say about the shop. `colour` is of HTML, `address` has lines. */
  readonly shop: { readonly name: string; readonly address: readonly string[]; readonly colour: string };
  /** Mails of this replica, per second and at the same time. */
  readonly perSecond: number;
  readonly atOnce: number;
  /** Mails of one kind about an account that a user gets within an hour; further ones wait. */
  readonly perUserAndHour: number;
  /** Factor of the pauses between attempts; below 1 only in tests, whose attempts and leases are shorter, too. */
  readonly timeScale: number;
  /** Time limit of an attempt. */
  readonly attemptLimitMs: number;
  /** Length of a lease, longer than an attempt. After it another replica sends the mail of one that crashed. */
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly sweepMs: number;
  /** How long ended mails are kept. */
  readonly keepEndedMs: number;
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
  readonly mail: MailOptions;
  /**
   * `allowedTargets`: brokers that may be connected to although they are not public, each as `host:port` or `host:*`. `ca`: a file of CAs of
   * brokers, besides those that Node knows; empty: none. It is read at each connection.
   */
  readonly destinations: { readonly allowedTargets: readonly string[]; readonly ca: string };
  /** Public address of the API, without a trailing slash. */
  readonly publicUrl: string;
}

/** Of a page of the stream: events by default and at most, and for how long it may wait for the first. */
export const defaultLimit = 100;
export const maxLimit = 1_000;
export const maxWaitSeconds = 30;

export const NOTIFICATIONS_OPTIONS = Symbol('notifications options');
