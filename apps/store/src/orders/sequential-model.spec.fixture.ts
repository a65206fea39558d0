import type { DomainCode } from '@plant-shop/contracts/errors';

/** The reference model for tests: places orders strictly one at a time, as a batch must appear to do. */
export class SequentialModel {
  readonly orders = new Map<number, { plantId: number; quantity: number }>();

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
    plant.free -= order.quantity;
    plant.reserved += order.quantity;
    this.orders.set(order.orderId, order);
    return 'placed';
  }
}
