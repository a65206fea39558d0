import type { DomainCode } from '@plant-shop/contracts/errors';

interface ModelLine {
  readonly plantId: number;
  readonly quantity: number;
}

/** The reference model for tests: places orders strictly one at a time, as a batch must appear to do. */
export class SequentialModel {
  readonly orders = new Map<number, ModelLine>();

  constructor(
    readonly stock: Map<number, { listing: string; free: number; reserved: number }>,
    private readonly closed: ReadonlySet<string> = new Set(),
  ) {}

  place(order: { orderId: number; plantId: number; quantity: number; ownerId: string }): 'placed' | DomainCode {
    const plant = this.stock.get(order.plantId);
    if (!plant || plant.listing === 'retired') return 'plant-not-found';
    if (this.closed.has(order.ownerId)) return 'customer-closed';
    if (this.orders.has(order.orderId)) return 'order-exists';
    if (plant.listing !== 'available') return 'plant-not-available';
    if (plant.free < order.quantity) return 'insufficient-stock';
    this.reserve(order.orderId, order);
    return 'placed';
  }

  /** @param firstId the id of the first line's order; the others follow */
  placeBasket({ firstId, lines, ownerId }: { firstId: number; lines: readonly ModelLine[]; ownerId: string }): 'placed' | DomainCode {
    const listings = lines.map(({ plantId }) => this.stock.get(plantId)?.listing ?? 'retired');
    if (listings.includes('retired')) return 'plant-not-found';
    if (this.closed.has(ownerId)) return 'customer-closed';
    if (listings.some((listing) => listing !== 'available')) return 'plant-not-available';
    const left = new Map([...this.stock].map(([plantId, { free }]) => [plantId, free]));
    for (const { plantId, quantity } of lines) left.set(plantId, (left.get(plantId) ?? 0) - quantity);
    if ([...left.values()].some((free) => free < 0)) return 'insufficient-stock';
    lines.forEach((line, n) => this.reserve(firstId + n, line));
    return 'placed';
  }

  private reserve(orderId: number, { plantId, quantity }: ModelLine): void {
    const plant = this.stock.get(plantId);
    if (!plant) throw new Error(`there is no plant ${plantId}`);
    plant.free -= quantity;
    plant.reserved += quantity;
    this.orders.set(orderId, { plantId, quantity });
  }
}
