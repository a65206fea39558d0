/** Identifies the owner and endpoint of a queued delivery. */
export interface Queued {
  readonly ownerId: string;
  readonly webhookId: string;
}

interface Endpoint<Job> {
  readonly waiting: Job[];
  underWay: number;
}

class Owner<Job> {
  readonly endpoints = new Map<string, Endpoint<Job>>();
  waiting = 0;
  underWay = 0;

  get claimed(): number {
    return this.waiting + this.underWay;
  }
}

/** A replica has this many times the slots that one owner may take. */
const reserve = 8;
/** Slots of an owner whose receivers were not observed yet. */
const firstWindow = 2;
/** Maximum number of owners whose windows are remembered. */
const maxWindows = 10_000;

/** Returns the number of concurrent attempts of a replica. */
export const slotsFor = (perOwner: number): number => perOwner * reserve;

/**
 * Returns the maximum number of slots of one owner: an eighth of those that the others leave. A single owner gets an eighth of all,
 * n owners that want more get 1/(n+7) each, and seven such shares stay free for owners that come later. In switches this is
 * called a dynamic threshold (Choudhury and Hahne, 1998).
 */
export const shareOf = (slots: number, usedByOthers: number): number => Math.ceil((slots - usedByOthers) / reserve);

/**
 * Claimed deliveries of one replica, waiting and in progress. A free slot goes to the owner with the fewest attempts in progress, and
 * within an owner to the endpoint with the fewest, so that many endpoints do not increase an owner's share.
 *
 * An attempt in progress cannot be revoked, so an owner's share grows step by step, like a TCP sender's window: two slots at first,
 * one more for each quick attempt, half as many after a slow one. Otherwise owners of receivers that hang would hold most slots
 * before the first of their attempts has timed out.
 */
export class FairQueue<Job extends Queued> {
  private readonly owners = new Map<string, Owner<Job>>();
  private readonly windows = new Map<string, number>();
  private readonly slots: number;
  private readonly claims: number;
  private waitingCount = 0;
  private underWayCount = 0;

  /**
   * @param perOwner concurrent attempts of one owner while no other owner has any
   * @param waitingPerAttempt claimed deliveries that may wait, for each concurrent attempt
   */
  constructor(
    private readonly perOwner: number,
    private readonly waitingPerAttempt: number,
  ) {
    this.slots = slotsFor(perOwner);
    this.claims = this.slots * (1 + waitingPerAttempt);
  }

  get underWay(): number {
    return this.underWayCount;
  }

  add(jobs: readonly Job[]): void {
    for (const job of jobs) {
      const owner = this.ownerOf(job);
      endpointOf(owner, job).waiting.push(job);
      owner.waiting++;
      this.waitingCount++;
    }
  }

  /** Takes the job that is to begin next. Undefined if none waits, or if the owners of all waiting jobs have used up their shares. */
  next(): Job | undefined {
    const owner = leastBusy([...this.owners].flatMap(([id, one]) => (one.waiting > 0 && this.mayBegin(id, one) ? [one] : [])));
    const endpoint = owner && leastBusy([...owner.endpoints.values()].filter(({ waiting }) => waiting.length > 0));
    const job = endpoint?.waiting.shift();
    if (!owner || !endpoint || !job) return undefined;
    endpoint.underWay++;
    owner.underWay++;
    owner.waiting--;
    this.underWayCount++;
    this.waitingCount--;
    return job;
  }

  /**
   * Frees the slot of a job that `next` returned.
   * @param wasQuick whether the owner's window grows or shrinks; undefined for a job that was not attempted
   */
  end(job: Job, wasQuick?: boolean): void {
    if (wasQuick !== undefined) this.learn(job.ownerId, wasQuick);
    const owner = this.ownerOf(job);
    const endpoint = endpointOf(owner, job);
    endpoint.underWay--;
    owner.underWay--;
    this.underWayCount--;
    if (endpoint.underWay === 0 && endpoint.waiting.length === 0) owner.endpoints.delete(job.webhookId);
    if (owner.endpoints.size === 0) this.owners.delete(job.ownerId);
  }

  /** Removes and returns all jobs that have not begun. */
  takeWaiting(): Job[] {
    const jobs = [...this.owners.values()].flatMap(({ endpoints }) => [...endpoints.values()].flatMap(({ waiting }) => waiting.splice(0)));
    for (const [ownerId, owner] of this.owners) {
      owner.waiting = 0;
      for (const [webhookId, { underWay }] of owner.endpoints) if (underWay === 0) owner.endpoints.delete(webhookId);
      if (owner.endpoints.size === 0) this.owners.delete(ownerId);
    }
    this.waitingCount = 0;
    return jobs;
  }

  /**
   * Returns whether nothing should be claimed for this owner now. A claim is worth its transaction when half of the owner's share is
   * free, or none of its deliveries wait.
   */
  isFull(ownerId: string): boolean {
    const owner = this.owners.get(ownerId);
    if (!owner) return this.freeClaims < 1;
    const share = this.claimsOf(ownerId, owner);
    return owner.claimed >= share || (owner.waiting > 0 && owner.claimed > share / 2);
  }

  fullOwners(): string[] {
    return [...this.owners.keys()].filter((ownerId) => this.isFull(ownerId));
  }

  /** Returns how many deliveries may be claimed for each of these endpoints, in the same order. */
  sharesOf(turns: readonly Queued[]): number[] {
    const byOwner = Map.groupBy(turns, ({ ownerId }) => ownerId);
    const each = Math.ceil(this.freeClaims / (byOwner.size + reserve - 1));
    const left = new Map(
      [...byOwner].map(([ownerId, own]) => {
        const owner = this.owners.get(ownerId) ?? new Owner<Job>();
        const room = Math.max(0, Math.min(each, this.claimsOf(ownerId, owner) - owner.claimed));
        return [ownerId, { room, perEndpoint: Math.ceil(room / own.length) }];
      }),
    );
    return turns.map(({ ownerId }) => {
      const owner = left.get(ownerId);
      if (!owner) return 0;
      const share = Math.min(owner.room, owner.perEndpoint);
      owner.room -= share;
      return share;
    });
  }

  private get freeClaims(): number {
    return this.claims - this.waitingCount - this.underWayCount;
  }

  private claimsOf(ownerId: string, owner: Owner<Job>): number {
    const share = shareOf(this.claims, this.waitingCount + this.underWayCount - owner.claimed);
    return Math.min(share, this.windowOf(ownerId) * (1 + this.waitingPerAttempt));
  }

  private mayBegin(ownerId: string, owner: Owner<Job>): boolean {
    return owner.underWay < Math.min(this.windowOf(ownerId), shareOf(this.slots, this.underWayCount - owner.underWay));
  }

  private windowOf(ownerId: string): number {
    return this.windows.get(ownerId) ?? Math.min(firstWindow, this.perOwner);
  }

  private learn(ownerId: string, wasQuick: boolean): void {
    const window = this.windowOf(ownerId);
    // The map keeps insertion order: reinserting moves the owner to the end, and the least recently updated is first.
    this.windows.delete(ownerId);
    this.windows.set(ownerId, wasQuick ? Math.min(window + 1, this.perOwner) : Math.max(1, Math.floor(window / 2)));
    const [oldest] = this.windows.size > maxWindows ? this.windows.keys() : [];
    if (oldest !== undefined) this.windows.delete(oldest);
  }

  private ownerOf({ ownerId }: Job): Owner<Job> {
    const known = this.owners.get(ownerId) ?? new Owner<Job>();
    this.owners.set(ownerId, known);
    return known;
  }
}

function endpointOf<Job>(owner: Owner<Job>, { webhookId }: Queued): Endpoint<Job> {
  const known = owner.endpoints.get(webhookId) ?? { waiting: [], underWay: 0 };
  owner.endpoints.set(webhookId, known);
  return known;
}

function leastBusy<T extends { readonly underWay: number }>(all: readonly T[]): T | undefined {
  let least: T | undefined;
  for (const one of all) if (!least || one.underWay < least.underWay) least = one;
  return least;
}
