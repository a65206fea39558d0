import type { PlantStatus } from '@plant-shop/contracts/catalog';
import type { HighestNumbers, KnownStock, ListAllStock } from '@plant-shop/contracts/reconcile';
import { type ListStock, type OpenOrders, type OpenStock, type RetirePlant, store } from '@plant-shop/contracts/store';
import { unavailable } from '@plant-shop/platform/errors';
import { fake, startFake } from '@plant-shop/testing/service';

export interface Shelf {
  incarnation: number;
  listing: PlantStatus | 'retired';
  listingVersion: number;
  units: number | undefined;
  refusedAttempt: number;
}

type Operation = 'openStock' | 'openStocks' | 'listStock' | 'retirePlant';

/** What happens to one call: it may wait, fail, or carry it out and keep the answer. */
export type Fate = (carryOut: () => unknown) => unknown;

export const fails: Fate = () => {
  throw unavailable('store');
};
/** Carried out, but the answer never comes. */
export const losesItsAnswer: Fate = (carryOut) => {
  carryOut();
  return new Promise(() => undefined);
};

/** A call that waits where a test wants it: `arrived` says that it is there, `go` lets it be carried out. */
export function gate(): { readonly fate: Fate; readonly arrived: Promise<void>; readonly go: () => void } {
  let go = (): void => undefined;
  let arrive = (): void => undefined;
  const opened = new Promise<void>((resolve) => (go = resolve));
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const fate: Fate = async (carryOut) => {
    arrive();
    await opened;
    return carryOut();
  };
  return { fate, arrived, go };
}

/** The store as the catalog sees it: its rules about incarnations, versions and attempts, and nothing else of it. */
export class FakeStore {
  readonly shelves = new Map<number, Shelf>();
  readonly openOrders = new Map<number, number[]>();
  readonly calls: string[] = [];
  private readonly fates = new Map<Operation, Fate[]>();
  private running: { stop: () => Promise<void> } | undefined;

  constructor(private readonly natsUrl: string) {}

  async start(): Promise<void> {
    this.running = await startFake(this.natsUrl, 'store', [
      fake(store.openStock, (call) => this.take('openStock', call, () => this.open(call))),
      fake(store.openStocks, (call) =>
        this.take('openStocks', { plantId: call.plants[0]?.plantId ?? 0 }, () => {
          for (const one of call.plants) this.open(one);
          return { plants: call.plants.length };
        }),
      ),
      fake(store.listStock, (call) => this.take('listStock', call, () => this.list(call))),
      fake(store.retirePlant, (call) => this.take('retirePlant', call, () => this.retire(call))),
      fake(store.listAllStock, (page) => this.listAll(page)),
      fake(store.readHighestNumbers, () => this.highestNumbers()),
    ]);
  }

  async stop(): Promise<void> {
    await this.running?.stop();
    this.running = undefined;
  }

  /** The fate of the next call of an operation that has none yet. */
  next(operation: Operation, fate: Fate): void {
    this.fates.set(operation, [...(this.fates.get(operation) ?? []), fate]);
  }

  forgetFates(): void {
    this.fates.clear();
  }

  private async take<T>(operation: Operation, { plantId }: { plantId: number }, carryOut: () => T): Promise<T> {
    this.calls.push(`${operation} ${plantId}`);
    const fate = this.fates.get(operation)?.shift();
    return fate ? ((await fate(carryOut)) as T) : carryOut();
  }

  private shelf(plantId: number): Shelf {
    const shelf = this.shelves.get(plantId) ?? {
      incarnation: 0,
      listing: 'retired',
      listingVersion: 0,
      units: undefined,
      refusedAttempt: 0,
    };
    this.shelves.set(plantId, shelf);
    return shelf;
  }

  private open({ plantId, incarnation, status, version, units }: OpenStock): { plantId: number } {
    const shelf = this.shelf(plantId);
    if (incarnation > shelf.incarnation) {
      Object.assign(shelf, { incarnation, listing: status, listingVersion: version, units });
    }
    return { plantId };
  }

  private list({ plantId, incarnation, status, version }: ListStock): { plantId: number } {
    const shelf = this.shelf(plantId);
    if (shelf.incarnation < incarnation) throw new Error(`the stock of plant ${plantId} is not open`);
    const isNews = shelf.incarnation === incarnation && version > shelf.listingVersion && shelf.listing !== 'retired';
    if (isNews) Object.assign(shelf, { listing: status, listingVersion: version });
    return { plantId };
  }

  private listAll({ after = 0, limit = 1_000 }: ListAllStock): KnownStock[] {
    return [...this.shelves]
      .map(([plantId, { incarnation, listing, listingVersion }]) => ({ plantId, incarnation, listing, listingVersion }))
      .filter(({ plantId }) => plantId > after)
      .sort((a, b) => a.plantId - b.plantId)
      .slice(0, limit);
  }

  private highestNumbers(): HighestNumbers {
    const shelves = [...this.shelves.values()];
    return {
      plantVersion: Math.max(0, ...shelves.flatMap(({ incarnation, listingVersion }) => [incarnation, listingVersion])),
      assignedPlantId: Math.max(0, ...this.shelves.keys()),
      retireAttempt: Math.max(0, ...shelves.map(({ refusedAttempt }) => refusedAttempt)),
      closeAttempt: 0,
    };
  }

  private retire({ plantId, incarnation, attempt = 0 }: RetirePlant): OpenOrders {
    const shelf = this.shelf(plantId);
    if (shelf.incarnation > incarnation) return { openOrders: [] };
    if (attempt < shelf.refusedAttempt) throw unavailable('store');
    // Nobody can order what is retired, whatever a test says about its orders.
    const openOrders = shelf.listing === 'retired' ? [] : (this.openOrders.get(plantId) ?? []);
    if (openOrders.length > 0) {
      shelf.refusedAttempt = attempt;
      return { openOrders };
    }
    Object.assign(shelf, { incarnation, listing: 'retired' });
    return { openOrders: [] };
  }
}
