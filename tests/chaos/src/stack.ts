export const services = ['gateway', 'catalog', 'store', 'identity', 'notifications'] as const;
export type ServiceName = (typeof services)[number];

/** One process of a service. */
export interface Instance {
  readonly service: ServiceName;
  /** `store-2` */
  readonly label: string;
  readonly opsPort: number;
  /** The port for clients; only gateways and notifications have one. */
  readonly port?: number;
}

/** A relay between a process and one of its servers. */
export interface Link {
  readonly port: number;
  /** Closes every connection. New ones work. */
  drop(): Promise<void>;
  /** Closes every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts new connections again. */
  restore(): Promise<void>;
  /** Makes all connections half-open, new ones too: they forward nothing and are never closed. */
  stall(): Promise<void>;
  /** New connections work again; the stalled ones stay stalled. */
  admit(): Promise<void>;
  /** Forwards what the stalled connections held back. */
  resume(): Promise<void>;
  /** Drops everything that the server sends on the existing connections: requests are executed, and their answers are lost. */
  deafen(): Promise<void>;
  /** Sends new connections to another server. */
  retarget(url: string): Promise<void>;
}

/** A file system that only Postgres uses. */
export interface Disk {
  /** Fills it to the last block. */
  fill(): Promise<void>;
  free(): Promise<void>;
  /** Whether this machine can limit the I/O of single processes. */
  readonly canBeSlow: boolean;
  /** Limits the writes of a Postgres server and of all its present and future child processes. */
  slowDown(pid: number): void;
  speedUp(): Promise<void>;
}

/** The relays between an instance and its servers. The gateway has no database. */
export interface Links {
  readonly nats: Link;
  readonly postgres?: Link;
}

/** The mail server that the shop sends to, in a process `mail` (mail-server.mjs). */
export interface MailServer {
  /** File with a line of JSON for each mail that it has accepted. */
  readonly journal: string;
  /** @param share of the mails that it refuses for now, accepts slowly or not in full, or accepts without an answer; from 0 to 1 */
  fail(share: number): void;
}

/** A running shop (stack.mjs) that restarts every process that ends. */
export interface Stack {
  readonly instances: readonly Instance[];
  readonly links: Readonly<Record<string, Links>>;
  /** Labels of the NATS server or of the cluster's servers: `nats-1`, … */
  readonly natsServers: readonly string[];
  /** For example `2.9.10`. */
  readonly natsVersion: string;
  /** URL of Postgres for its superuser, past the relays. */
  readonly adminUrl: string;
  /** The simulated clock of each instance's host, by label, and of the host of all four databases (`postgres`); undefined if this machine cannot simulate clocks. */
  readonly clocks: Readonly<Record<string, { set(aheadMs: number): void }>> | undefined;
  /** Folder of the log files. */
  readonly logs: string;
  readonly signal: AbortSignal;
  readonly mail: MailServer;
  /** URL of the server with the streams of destinations, in a process `jetstream`. */
  readonly jetstreamUrl: string;
  /** Kills that server. It comes back empty, and after the second call with what it had before the first. */
  rewindStreams(): Promise<void>;
  /** Process id of an instance by its label, of `nats-1`, of `mail`, `jetstream` or `postgres`; undefined while it is being restarted. */
  pidOf(part: string): number | undefined;
  /**
   * Copies Postgres to a streaming replica, on a separate disk if this machine can have one.
   * @returns the replica's disk, or the reason why it has none
   */
  addStandby(): Promise<Disk | { readonly reason: string }>;
  /** Copies Postgres to a streaming replica without which it acknowledges nothing, as in production. */
  addSynchronousStandby(): Promise<void>;
  /**
   * Kills Postgres and fails over to the replica. What was committed in the last `lostMs` is lost, as with any asynchronous replica; the
   * former primary never comes back.
   */
  failOver(lostMs: number): Promise<void>;
  /** Adds a relay for a client to one server, or to several equivalent ones. */
  networkTo(...urls: readonly string[]): Promise<Link>;
  /** All process ids of a part, first that of `pidOf`; Postgres has one per session. */
  pidsOf(part: string): readonly number[];
  /** Changes settings of a service; they apply from the next start of each process. */
  set(service: ServiceName, values: Readonly<Record<string, string>>): void;
  end(): Promise<void>;
}

export const instancesOf = (stack: Stack, service: ServiceName): readonly Instance[] =>
  stack.instances.filter((one) => one.service === service);
