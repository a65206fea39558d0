import type { PlantStatus } from '@plant-shop/contracts/catalog';
import type { HighestNumbers, KnownStock, ListAllStock } from '@plant-shop/contracts/reconcile';
import { type ListStock, type OpenOrders, type OpenStock, type RetirePlant, store } from '@plant-shop/contracts/store';
import { theService, unavailable } from '@plant-shop/platform/errors';
import { fake, startFake } from '@plant-shop/service-testing/service';

/** A plant's stock as the fake store records it. */
export interface StockRow {
  incarnation: number;
  listing: PlantStatus | 'retired';
  listingVersion: number;
  units: number | undefined;
  refusedAttempt: number;
}

type Operation = 'openStock' | 'openStocks' | 'listStock' | 'retirePlant';

/** Replaces the handling of one call: may delay it, fail it, or carry it out and withhold the answer. */
export type CallInterceptor = (carryOut: () => unknown) => unknown;

/** Fails the call without carrying it out. */
export const fail: CallInterceptor = () => {
  throw unavailable(theService('store'));
};
/** Carries the call out, but never answers. */
export const loseAnswer: CallInterceptor = (carryOut) => {
  carryOut();
  return new Promise(() => undefined);
};

/** Holds a call back: `arrived` resolves when it reaches the store, `release` lets it be carried out. */
export function gate(): { readonly interceptor: CallInterceptor; readonly arrived: Promise<void>; readonly release: () => void } {
  let release = (): void => undefined;
  let arrive = (): void => undefined;
  const opened = new Promise<void>((resolve) => (release = resolve));
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const interceptor: CallInterceptor = async (carryOut) => {
    arrive();
    await opened;
    return carryOut();
  };
  return { interceptor, arrived, release };
}

/** The store as the catalog sees it: implements only the rules about incarnations, versions and attempts. */
export class FakeStore {
  readonly stock = new Map<number, StockRow>();
  readonly openOrders = new Map<number, number[]>();
  readonly calls: string[] = [];
  private readonly interceptors = new Map<Operation, CallInterceptor[]>();
  private running: { stop: () => Promise<void> } | undefined;

  constructor(private readonly natsUrl: string) {}

  async start(): Promise<void> {
    this.running = await startFake(this.natsUrl, 'store', [
      fake(store.openStock, (call) => this.receive('openStock', call, () => this.open(call))),
      fake(store.openStocks, (call) =>
        this.receive('openStocks', { plantId: call.plants[0]?.plantId ?? 0 }, () => {
          for (const one of call.plants) this.open(one);
          return { plants: call.plants.length };
        }),
      ),
      fake(store.listStock, (call) => this.receive('listStock', call, () => this.list(call))),
      fake(store.retirePlant, (call) => this.receive('retirePlant', call, () => this.retire(call))),
      fake(store.listAllStock, (page) => this.listAll(page)),
      fake(store.readHighestNumbers, () => this.highestNumbers()),
    ]);
  }

  async stop(): Promise<void> {
    await this.running?.stop();
    this.running = undefined;
  }

  /** Intercepts the next call of the operation. Several interceptors apply to successive calls. */
  interceptNext(operation: Operation, interceptor: CallInterceptor): void {
    this.interceptors.set(operation, [...(this.interceptors.get(operation) ?? []), interceptor]);
  }

  clearInterceptors(): void {
    this.interceptors.clear();
  }

  private async receive<T>(operation: Operation, { plantId }: { plantId: number }, carryOut: () => T): Promise<T> {
    this.calls.push(`${operation} ${plantId}`);
    const interceptor = this.interceptors.get(operation)?.shift();
    return interceptor ? ((await interceptor(carryOut)) as T) : carryOut();
  }

  private rowOf(plantId: number): StockRow {
    const row = this.stock.get(plantId) ?? {
      incarnation: 0,
      listing: 'retired',
      listingVersion: 0,
      units: undefined,
      refusedAttempt: 0,
    };
    this.stock.set(plantId, row);
    return row;
  }

  private open({ plantId, incarnation, status, version, units }: OpenStock): { plantId: number } {
    const row = this.rowOf(plantId);
    if (incarnation > row.incarnation) {
      Object.assign(row, { incarnation, listing: status, listingVersion: version, units });
    }
    return { plantId };
  }

  private list({ plantId, incarnation, status, version }: ListStock): { plantId: number } {
    const row = this.rowOf(plantId);
    if (row.incarnation < incarnation) throw new Error(`the stock of plant ${plantId} is not open`);
    const isNewer = row.incarnation === incarnation && version > row.listingVersion && row.listing !== 'retired';
    if (isNewer) Object.assign(row, { listing: status, listingVersion: version });
    return { plantId };
  }

  private listAll({ after = 0, limit = 1_000 }: ListAllStock): KnownStock[] {
    return [...this.stock]
      .map(([plantId, { incarnation, listing, listingVersion }]) => ({ plantId, incarnation, listing, listingVersion }))
      .filter(({ plantId }) => plantId > after)
      .sort((a, b) => a.plantId - b.plantId)
      .slice(0, limit);
  }

  private highestNumbers(): HighestNumbers {
    const rows = [...this.stock.values()];
    return {
      plantVersion: Math.max(0, ...rows.flatMap(({ incarnation, listingVersion }) => [incarnation, listingVersion])),
      assignedPlantId: Math.max(0, ...this.stock.keys()),
      retireAttempt: Math.max(0, ...rows.map(({ refusedAttempt }) => refusedAttempt)),
      closeAttempt: 0,
    };
  }

  private retire({ plantId, incarnation, attempt = 0 }: RetirePlant): OpenOrders {
    const row = this.rowOf(plantId);
    if (row.incarnation > incarnation) return { openOrders: [] };
    if (attempt < row.refusedAttempt) throw unavailable(theService('store'));
    // A retired plant has no open orders, even if the test set some.
    const openOrders = row.listing === 'retired' ? [] : (this.openOrders.get(plantId) ?? []);
    if (openOrders.length > 0) {
      row.refusedAttempt = attempt;
      return { openOrders };
    }
    Object.assign(row, { incarnation, listing: 'retired' });
    return { openOrders: [] };
  }
}
