/** Identifies the owner and endpoint of a queued delivery. */
export interface Queued {
  readonly ownerId: string;
  readonly webhookId: string;
}

/** An endpoint with due deliveries. */
export interface Candidate extends Queued {
  /** Number of deliveries that the endpoint's own limits allow to be claimed. */
  readonly room: number;
  /** Number of attempts since its last prompt response. */
  readonly silentAttempts: number;
}

/** A replica has this many times the slots that one owner may take. */
const reserve = 8;
/** Slots of an owner or endpoint whose receivers were not observed yet. */
const firstWindow = 2;
/** Maximum number of owners and endpoints that are remembered. */
const maxObserved = 20_000;
/** For so long of an endpoint's quick attempts, claimed deliveries may wait: one claim serves many of them. */
const aheadMs = 200;

/** Returns the number of concurrent attempts of a replica. */
export const slotsFor = (perOwner: number): number => perOwner * reserve;

/**
 * Returns the maximum number of slots of one owner: an eighth of those that the others leave. A single owner gets an eighth of all,
 * n owners that want more get 1/(n+7) each, and seven such shares stay free for owners that come later. In switches this is
 * called a dynamic threshold (Choudhury and Hahne, 1998).
 */
export const shareOf = (slots: number, usedByOthers: number): number => Math.ceil((slots - usedByOthers) / reserve);

/** What was observed of the receivers of an owner or endpoint. */
class Observed {
  private quick = 0;
  private quickBefore = 0;
  private since = -Infinity;

  constructor(
    public window: number,
    private readonly now: () => number,
  ) {}

  learn(wasQuick: boolean, maxWindow: number): void {
    this.window = wasQuick ? Math.min(this.window + 1, maxWindow) : Math.max(1, Math.floor(this.window / 2));
    this.roll();
    if (wasQuick) this.quick++;
  }

  /** Number of quick attempts that will probably end within `aheadMs`, as many as ended lately. */
  get flow(): number {
    this.roll();
    return Math.min(Math.max(this.quick, this.quickBefore), 2 * this.window);
  }

  private roll(): void {
    const now = this.now();
    const age = now - this.since;
    if (age < aheadMs) return;
    this.quickBefore = age < 2 * aheadMs ? this.quick : 0;
    this.quick = 0;
    this.since = now;
  }
}

class Endpoint<Job> {
  readonly waiting: Job[] = [];
  underWay = 0;

  constructor(readonly observed: Observed) {}
}

class Owner<Job> {
  readonly endpoints = new Map<string, Endpoint<Job>>();
  waiting = 0;
  underWay = 0;

  constructor(readonly observed: Observed) {}
}

/** Where an attempt counts. */
interface Place<Job> {
  readonly owner: Owner<Job>;
  readonly endpoint: Endpoint<Job>;
}

/**
 * Claimed deliveries of one replica, waiting and in progress. A free slot goes to the owner with the fewest attempts in progress, and
 * within an owner to the endpoint with the fewest, so that many endpoints do not increase an owner's share.
 *
 * A slot cannot be taken back from a receiver that hangs, so an endpoint's window grows step by step, like a TCP sender's: two slots at
 * first, one more for each quick attempt, half as many after a slow one. Up to half of all slots, endpoints that hang take nothing from
 * their owner's others: each endpoint may have one attempt beyond its owner's share. Beyond that an owner has a window as well:
 * otherwise owners with many endpoints that hang would hold all slots before the first of their attempts has timed out.
 *
 * Deliveries wait only for slots that are about to become free.
 */
export class FairQueue<Job extends Queued> {
  private readonly owners = new Map<string, Owner<Job>>();
  /** Owners and endpoints, by id. */
  private readonly observed = new Map<string, Observed>();
  private readonly slots: number;
  private underWayCount = 0;

  /** @param perOwner concurrent attempts of one owner while no other owner has any */
  constructor(
    private readonly perOwner: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.slots = slotsFor(perOwner);
  }

  get underWay(): number {
    return this.underWayCount;
  }

  get hasFreeSlots(): boolean {
    return this.underWayCount < this.slots;
  }

  add(jobs: readonly Job[]): void {
    for (const job of jobs) {
      const { owner, endpoint } = this.placeOf(job);
      endpoint.waiting.push(job);
      owner.waiting++;
    }
  }

  /** Takes the job that is to begin next. Undefined if none waits, or if the windows or shares of all waiting jobs are used up. */
  next(): Job | undefined {
    const open = [...this.owners.values()].flatMap((owner) =>
      owner.waiting === 0 ? [] : [...owner.endpoints.values()].flatMap((endpoint) => (endpoint.waiting.length > 0 ? [{ owner, endpoint }] : [])),
    );
    const place = this.leastBusy(open);
    const job = place?.endpoint.waiting.shift();
    if (!place || !job) return undefined;
    place.owner.waiting--;
    this.begin(place);
    return job;
  }

  /**
   * Frees the slot of a job that `next` returned.
   * @param wasQuick whether the windows grow or shrink; undefined for an attempt that says nothing about the receiver
   */
  end(job: Job, wasQuick?: boolean): void {
    const place = this.placeOf(job);
    if (wasQuick !== undefined) {
      place.owner.observed.learn(wasQuick, this.perOwner);
      place.endpoint.observed.learn(wasQuick, this.perOwner);
    }
    this.undo(place);
    this.forgetIfIdle(job);
  }

  /** Removes a job that has not begun. Returns false if it does not wait. */
  remove(job: Job): boolean {
    const owner = this.owners.get(job.ownerId);
    const endpoint = owner?.endpoints.get(job.webhookId);
    const position = endpoint?.waiting.indexOf(job) ?? -1;
    if (!owner || position < 0) return false;
    endpoint?.waiting.splice(position, 1);
    owner.waiting--;
    this.forgetIfIdle(job);
    return true;
  }

  /** Removes and returns all jobs that have not begun. */
  takeWaiting(): Job[] {
    const jobs = [...this.owners.values()].flatMap(({ endpoints }) => [...endpoints.values()].flatMap(({ waiting }) => waiting));
    return jobs.filter((job) => this.remove(job));
  }

  /** Owners and endpoints that nothing should be claimed for now. */
  full(): { readonly owners: readonly string[]; readonly endpoints: readonly string[] } {
    const owners = [...this.owners].filter(([, owner]) => !this.ownerHasRoom(owner) && !this.isHalfFree && owner.observed.flow === 0);
    const endpoints = [...this.owners.values()].flatMap((owner) =>
      [...owner.endpoints].filter(([, endpoint]) => !this.mayBegin({ owner, endpoint }) && !isRunningOut(endpoint)),
    );
    return { owners: owners.map(([id]) => id), endpoints: endpoints.map(([id]) => id) };
  }

  /** Whether a claim is worth its transaction after this job has ended. */
  wantsMore(job: Job): boolean {
    const place = this.placeOf(job);
    const wants = this.ownerHasRoom(place.owner) || this.mayBegin(place) || isRunningOut(place.endpoint);
    this.forgetIfIdle(job);
    return wants;
  }

  /**
   * Returns how many deliveries may be claimed for each of these endpoints, in the same order: as many as may begin now, those whose
   * receivers are not silent first, and as many as will probably begin soon.
   */
  sharesOf(candidates: readonly Candidate[]): number[] {
    const places = candidates.map((candidate) => ({ ...this.placeOf(candidate), candidate, share: 0 }));
    for (let left = places; ; ) {
      left = left.filter(({ candidate, share }) => share < candidate.room);
      const place = this.leastBusy(left);
      if (!place) break;
      place.share++;
      this.begin(place);
    }
    const shares = places.map(({ owner, endpoint, candidate: { room }, share }) => {
      const isIdle = endpoint.underWay + endpoint.waiting.length === 0;
      const ahead = isIdle ? Math.min(1, owner.observed.flow) : endpoint.observed.flow;
      return share + Math.max(0, Math.min(room - share, ahead - endpoint.waiting.length));
    });
    for (const place of places) for (let n = 0; n < place.share; n++) this.undo(place);
    for (const candidate of candidates) this.forgetIfIdle(candidate);
    return shares;
  }

  /** Whether at least half of the slots are free. */
  private get isHalfFree(): boolean {
    return this.underWayCount * 2 < this.slots;
  }

  private begin({ owner, endpoint }: Place<Job>): void {
    endpoint.underWay++;
    owner.underWay++;
    this.underWayCount++;
  }

  private undo({ owner, endpoint }: Place<Job>): void {
    endpoint.underWay--;
    owner.underWay--;
    this.underWayCount--;
  }

  /** Returns the first of those that have the fewest attempts in progress and may begin another. */
  private leastBusy<P extends Place<Job> & { readonly candidate?: Candidate }>(places: readonly P[]): P | undefined {
    let least: P | undefined;
    for (const place of places) {
      if (!this.mayBegin(place)) continue;
      const difference = least
        ? place.owner.underWay - least.owner.underWay ||
          place.endpoint.underWay - least.endpoint.underWay ||
          (place.candidate?.silentAttempts ?? 0) - (least.candidate?.silentAttempts ?? 0)
        : -1;
      if (difference < 0) least = place;
    }
    return least;
  }

  private mayBegin({ owner, endpoint }: Place<Job>): boolean {
    if (!this.hasFreeSlots || endpoint.underWay >= endpoint.observed.window) return false;
    return this.ownerHasRoom(owner) || (endpoint.underWay === 0 && this.isHalfFree);
  }

  private ownerHasRoom({ underWay, observed }: Owner<Job>): boolean {
    const share = shareOf(this.slots, this.underWayCount - underWay);
    return underWay < (this.isHalfFree ? share : Math.min(share, observed.window));
  }

  private placeOf({ ownerId, webhookId }: Queued): Place<Job> {
    const owner = this.owners.get(ownerId) ?? new Owner<Job>(this.observe(ownerId));
    const endpoint = owner.endpoints.get(webhookId) ?? new Endpoint<Job>(this.observe(webhookId));
    this.owners.set(ownerId, owner);
    owner.endpoints.set(webhookId, endpoint);
    return { owner, endpoint };
  }

  private observe(id: string): Observed {
    const known = this.observed.get(id) ?? new Observed(Math.min(firstWindow, this.perOwner), this.now);
    // The map keeps insertion order: reinserting moves the id to the end, and the least recently used is first.
    this.observed.delete(id);
    this.observed.set(id, known);
    const [oldest] = this.observed.size > maxObserved ? this.observed.keys() : [];
    if (oldest !== undefined) this.observed.delete(oldest);
    return known;
  }

  private forgetIfIdle({ ownerId, webhookId }: Queued): void {
    const owner = this.owners.get(ownerId);
    const endpoint = owner?.endpoints.get(webhookId);
    if (!owner || !endpoint || endpoint.underWay > 0 || endpoint.waiting.length > 0) return;
    owner.endpoints.delete(webhookId);
    if (owner.endpoints.size === 0) this.owners.delete(ownerId);
  }
}

/** Whether so few deliveries wait that a claim is worth its transaction. */
const isRunningOut = ({ waiting, observed }: Endpoint<unknown>): boolean => waiting.length * 2 < observed.flow;
