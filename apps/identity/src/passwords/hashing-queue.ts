/** Passwords of one registration, which wait together. */
interface Batch {
  readonly network: string;
  /** Each starts the hashing of one password. */
  readonly waiting: (() => Promise<void>)[];
  readonly isLate: () => boolean;
  readonly refuse: (reason: 'late' | 'crowded') => void;
}

/** Registrations that wait at most. Far below identity's limit of calls, which logins need too. */
const maxBatches = 500;

/**
 * Decides which password is hashed next. Urgent work (logins) goes first, in order of arrival. Registrations follow: networks take turns,
 * one password each, and a network's registrations keep their order, so neither a long list nor many registrations of one network delay
 * those of another. Of one network's logins at most as many wait as may fail (`LoginAttempts`): each counts as failed until it has succeeded.
 */
export class HashingQueue {
  private running = 0;
  private readonly urgent: (() => Promise<void>)[] = [];
  /** In the order of their turns. */
  private readonly networks = new Map<string, Batch[]>();

  /** @param slots how many passwords are hashed at once */
  constructor(private readonly slots: number) {}

  get waitingUrgent(): number {
    return this.urgent.length;
  }

  get waiting(): number {
    return this.urgent.length + sum([...this.networks.values()].map(lengthOf));
  }

  addUrgent(work: () => Promise<void>): void {
    this.urgent.push(work);
    this.startNext();
  }

  /** Adds a registration. When too many wait, the last of the network with the most passwords is refused, which may be this one. */
  add(batch: Batch): void {
    const others = this.networks.get(batch.network);
    if (others) others.push(batch);
    else this.networks.set(batch.network, [batch]);
    this.dropBeyondLimit();
    this.startNext();
  }

  /** Returns how many passwords are hashed before the last of `count` new ones of a network, and that one. */
  turnsUntilEnd(network: string, count: number): number {
    const own = lengthOf(this.networks.get(network) ?? []) + count;
    const others = [...this.networks].map(([one, batches]) => (one === network ? 0 : Math.min(own, lengthOf(batches))));
    return this.urgent.length + this.running + own + sum(others);
  }

  private dropBeyondLimit(): void {
    if (sum([...this.networks.values()].map((batches) => batches.length)) <= maxBatches) return;
    const [network, batches] = [...this.networks].reduce((most, one) => (lengthOf(one[1]) > lengthOf(most[1]) ? one : most));
    batches.pop()?.refuse('crowded');
    if (batches.length === 0) this.networks.delete(network);
  }

  private startNext(): void {
    while (this.running < this.slots) {
      const work = this.urgent.shift() ?? this.nextOfNetworks();
      if (!work) return;
      this.running++;
      void work().finally(() => {
        this.running--;
        this.startNext();
      });
    }
  }

  private nextOfNetworks(): (() => Promise<void>) | undefined {
    for (const [network, batches] of this.networks) {
      // Its next turn is after those of all others.
      this.networks.delete(network);
      while (batches[0]?.isLate()) batches.shift()?.refuse('late');
      const work = batches[0]?.waiting.shift();
      if (batches[0]?.waiting.length === 0) batches.shift();
      if (batches.length > 0) this.networks.set(network, batches);
      if (work) return work;
    }
    return undefined;
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const lengthOf = (batches: readonly Batch[]): number => sum(batches.map(({ waiting }) => waiting.length));
