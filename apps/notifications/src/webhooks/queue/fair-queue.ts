/** What a delivery needs to be queued fairly. */
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

/** A replica has so many times the places that one owner may take. */
const reserve = 8;
/** Places of an owner of whose receivers nothing is known yet. */
const firstWindow = 2;
/** OwnerSync whose windows are remembered while nothing of theirs is claimed. */
const maxWindows = 10_000;

/** Attempts that may be under way on a replica at the same time. */
export const slotsFor = (perOwner: number): number => perOwner * reserve;

/**
 * Most places that one owner may take: an eighth of those that the others leave. An owner alone gets an eighth of all, n
 * owners that want more get 1/(n+7) each, and seven such shares stay free for owners that come later. Known from switches as
 * a dynamic threshold (Choudhury and Hahne, 1998).
 */
export const shareOf = (places: number, takenByOthers: number): number => Math.ceil((places - takenByOthers) / reserve);

/**
 * ClaimedDelivery deliveries of one replica, waiting and under way. Places go to the owner with the fewest attempts under way, and
 * within an owner to the endpoint with the fewest: many endpoints bring an owner no more than its share.
 *
 * An attempt that has begun is not taken back, so an owner gets its share step by step, like a TCP sender: two places at
 * first, one more for each attempt that ended soon, half as many after one that did not. Otherwise owners of receivers that
 * hang would hold most places before the first of their attempts has timed out.
 */
export class FairQueue<Job extends Queued> {
  private readonly owners = new Map<string, Owner<Job>>();
  private readonly windows = new Map<string, number>();
  private readonly places: number;
  private readonly claims: number;
  private waitingCount = 0;
  private underWayCount = 0;

  /**
   * @param perOwner attempts of one owner under way while nobody else has any
   * @param waitingPerAttempt claimed and not begun, for each attempt that may be under way
   */
  constructor(
    private readonly perOwner: number,
    private readonly waitingPerAttempt: number,
  ) {
    this.places = slotsFor(perOwner);
    this.claims = this.places * (1 + waitingPerAttempt);
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

  /** Takes the job whose turn it is to begin. Undefined: none waits, or the owners of all that wait have their share. */
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
   * A job that `next` gave is over.
   * @param wasQuick how it bears on what its owner gets next; undefined for one that was not attempted
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

  /** Whether nothing is claimed for this owner now. A claim is worth its transaction when half of the owner's share is free. */
  isFull(ownerId: string): boolean {
    const owner = this.owners.get(ownerId);
    if (!owner) return this.freeClaims < 1;
    const share = this.claimsOf(ownerId, owner);
    return owner.claimed >= share || (owner.waiting > 0 && owner.claimed > share / 2);
  }

  fullOwners(): string[] {
    return [...this.owners.keys()].filter((ownerId) => this.isFull(ownerId));
  }

  /** How many deliveries may be claimed for each of these endpoints, in their order. */
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
    return owner.underWay < Math.min(this.windowOf(ownerId), shareOf(this.places, this.underWayCount - owner.underWay));
  }

  private windowOf(ownerId: string): number {
    return this.windows.get(ownerId) ?? Math.min(firstWindow, this.perOwner);
  }

  private learn(ownerId: string, wasQuick: boolean): void {
    const window = this.windowOf(ownerId);
    // Those that were heard of last are at the end.
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
