export const services = ['gateway', 'catalog', 'store', 'identity', 'notifications'] as const;
export type ServiceName = (typeof services)[number];

/** One process of a service. */
export interface Instance {
  readonly service: ServiceName;
  /** `store-2` */
  readonly label: string;
  readonly opsPort: number;
  /** Of gateways and notifications: where clients reach it. */
  readonly port?: number;
}

/** The network between a process and one of its servers. */
export interface Link {
  readonly port: number;
  /** Ends every connection. New ones are served. */
  drop(): Promise<void>;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** New connections are served again. */
  restore(): Promise<void>;
  /** Half-open: passes nothing on and closes nothing, of new connections neither. */
  stall(): Promise<void>;
  /** New connections are served again; the others still stall. */
  admit(): Promise<void>;
  /** Delivers what the stalled connections held back. */
  resume(): Promise<void>;
  /** Passes nothing on from the server any more, on the connections that there are: what is asked is done, and the answer is lost. */
  deafen(): Promise<void>;
  /** New connections go to another server. */
  retarget(url: string): Promise<void>;
}

/** A file system that only Postgres uses. */
export interface Disk {
  /** Leaves no free block. */
  fill(): Promise<void>;
  free(): Promise<void>;
  /** Whether this machine lets us limit the I/O of single processes. */
  readonly canBeSlow: boolean;
  /** Limits the writes of a Postgres server and of all processes that it has or will have. */
  slowDown(pid: number): void;
  speedUp(): void;
}

/** The relays between an instance and its servers. The gateway has no database. */
export interface Links {
  readonly nats: Link;
  readonly postgres?: Link;
}

/** A running shop (stack.mjs), in which every process that ends is started again. */
export interface Stack {
  readonly instances: readonly Instance[];
  readonly links: Readonly<Record<string, Links>>;
  /** `nats-1`, …: one, or the servers of a cluster. */
  readonly natsServers: readonly string[];
  /** Such as `2.9.10`. */
  readonly natsVersion: string;
  /** Of Postgres, as its superuser and past the relays. */
  readonly adminUrl: string;
  /** Of each instance's host, by its label; undefined where this machine does not let us set them. */
  readonly clocks: Readonly<Record<string, { set(aheadMs: number): void }>> | undefined;
  /** Folder of the log files. */
  readonly logs: string;
  readonly signal: AbortSignal;
  /** Of an instance by its label, of `nats-1`, or of `postgres`; undefined between two lives. */
  pidOf(part: string): number | undefined;
  /**
   * Copies Postgres to a streaming replica, on a disk of its own if this machine lets us make one.
   * @returns the replica's disk, or the reason why it has none
   */
  addStandby(): Promise<Disk | { readonly reason: string }>;
  /**
   * Fails over to the replica. What was committed in the last `lostMs` is lost, as with any asynchronous replica; the
   * former primary never comes back.
   */
  failOver(lostMs: number): Promise<void>;
  /** A network of its own for a client, to a server or to several that are alike. */
  networkTo(...urls: readonly string[]): Promise<Link>;
  /** All processes of it: of Postgres one for each session. The one of `pidOf` is the first. */
  pidsOf(part: string): readonly number[];
  /** Settings of a service, from its processes' next starts on. */
  set(service: ServiceName, values: Readonly<Record<string, string>>): void;
  end(): Promise<void>;
}

export const instancesOf = (stack: Stack, service: ServiceName): readonly Instance[] =>
  stack.instances.filter((one) => one.service === service);
