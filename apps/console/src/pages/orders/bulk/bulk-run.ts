import { type Shop, ShopError, ShopProblem } from '@plant-shop/client';
import { type Order, stateOf } from '../../../shop/day.js';
import { RowRun } from '../../../shop/row-run.js';
import { keepUnknown } from '../../../ui/drafts.js';
import { trimmed } from '../../../ui/numbers.js';
import { Refusal } from '../../../ui/problem.js';
import { problemText, shortText } from '../../../ui/problem-text.js';

export type BulkKind = 'ship' | 'deliver' | 'cancel';

export interface BulkChange {
  readonly carrier: string;
  /** By order. */
  readonly trackingNumbers: Readonly<Record<number, string>>;
  readonly reason: string;
  readonly restock: boolean;
}

export interface BulkRow {
  /** As it was selected; once it is shipped, with the shipment. */
  readonly order: Order;
  /** Unknown: no answer came. */
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'unknown';
  /** Why it failed. */
  readonly why?: string;
  /** Its present state refuses the change, and would again. */
  readonly isFinal?: boolean;
  readonly requestId?: string;
}

/** The codes of an order whose state allows the change no more. */
const refusals = ['order-not-cancellable', 'order-transition-refused'] as const;
/** Requests at the same time. */
const atOnce = 10;

/** What is sent for an order. It is sent again as it was if nobody knows whether the shop took it, so that it counts once. */
interface Sent {
  readonly idempotencyKey: string;
  readonly etag?: string;
  readonly text: string;
}

/** Which orders a change is for; the shop checks again. */
export const isEligible: Readonly<Record<BulkKind, (order: Order) => boolean>> = {
  ship: ({ status, carrier }) => status === 'approved' && carrier === undefined,
  deliver: ({ status, carrier }) => status === 'approved' && carrier !== undefined,
  cancel: ({ status, carrier }) => status === 'placed' || (status === 'approved' && carrier === undefined),
};

type Shipment = Required<Pick<Order, 'carrier' | 'trackingNumber'>>;

/**
 * Returns the ETag with which an order is shipped, or the order if it has this shipment already.
 * @param seen the order as people saw it
 * @throws Refusal if it has another shipment by now, which this one would replace without a word
 */
export async function etagToShip(shop: Shop, seen: Order, { carrier, trackingNumber }: Shipment): Promise<{ readonly etag: string | undefined } | { readonly shipped: Order }> {
  const { data, response } = await shop.GET('/store/order/{orderId}', { params: { path: { orderId: seen.id } } });
  if (data.carrier === carrier && data.trackingNumber === trackingNumber) return { shipped: data };
  if (data.carrier !== seen.carrier || data.trackingNumber !== seen.trackingNumber) throw new Refusal(`It is shipped already, with ${data.carrier ?? ''}, ${data.trackingNumber ?? ''}.`, 'Nothing was changed. Go back; if yours is right, choose “Correct the shipment”.');
  return { etag: response.headers.get('etag') ?? undefined };
}

/** The same change of many orders, one by one, with a result for each. */
export class BulkRun extends RowRun<BulkRow> {
  private readonly unknown = new Map<number, Sent>();

  /** @param leftOut how many of the selected orders the change is not for */
  constructor(
    private readonly shop: Shop,
    readonly kind: BulkKind,
    orders: readonly Order[],
    readonly leftOut: number,
  ) {
    super(orders.map((order) => [order.id, { order, state: 'waiting' }]), atOnce);
  }

  /** Changes the orders that are not changed yet. */
  run(change: BulkChange): Promise<void> {
    return this.each(({ order }) => this.rowOf(order, change));
  }

  protected fresh({ order }: BulkRow, state: 'waiting' | 'running'): BulkRow {
    return { order, state };
  }

  protected isDone({ state, isFinal = false }: BulkRow): boolean {
    return state === 'done' || isFinal;
  }

  private async rowOf(order: Order, change: BulkChange): Promise<BulkRow> {
    const wasUnknown = this.unknown.has(order.id);
    try {
      const shipment = await this.change(order, change);
      this.unknown.delete(order.id);
      return { order: { ...order, ...shipment }, state: 'done' };
    } catch (error) {
      keepUnknown(error, wasUnknown);
      if (error instanceof ShopError && error.outcome !== 'unknown') this.unknown.delete(order.id);
      if (error instanceof Refusal) return { order, state: 'failed', isFinal: true, why: error.message };
      if (error instanceof ShopProblem && refusals.some((code) => error.is(code))) return { order, state: 'failed', isFinal: true, why: await this.stateNow(order) };
      const { what, faults, requestId } = problemText(error);
      const state = error instanceof ShopError && error.outcome === 'unknown' ? 'unknown' : 'failed';
      return { order, state, why: faults[0] === undefined ? shortText(error) : `${what} ${faults[0].detail}`, ...(requestId !== undefined && { requestId }) };
    }
  }

  /** Says in which state an order is by now. */
  private async stateNow({ id }: Order): Promise<string> {
    try {
      const { data } = await this.shop.GET('/store/order/{orderId}', { params: { path: { orderId: id } } });
      return `It is ${stateOf(data)} by now.`;
    } catch {
      return 'It is in another state by now.';
    }
  }

  /** @returns the shipment, if that is the change */
  private async change(order: Order, { carrier, trackingNumbers, reason, restock }: BulkChange): Promise<Pick<Order, 'carrier' | 'trackingNumber'> | undefined> {
    const { id } = order;
    const path = { orderId: id };
    if (this.kind === 'deliver') {
      await this.shop.POST('/store/order/{orderId}/delivery', { params: { path }, idempotencyKey: this.sentOf(id, '').idempotencyKey });
      return undefined;
    }
    if (this.kind === 'cancel') {
      // The shop cancels an order only once, and answers as if this had been the first time.
      if (!this.unknown.has(id) && (await this.shop.GET('/store/order/{orderId}', { params: { path } })).data.status === 'cancelled') throw new Refusal('It was cancelled before, with another reason.', 'Nothing was changed.');
      const body = { reason: trimmed(reason), restock };
      await this.shop.POST('/store/order/{orderId}/cancellation', { params: { path }, body, idempotencyKey: this.sentOf(id, JSON.stringify(body)).idempotencyKey });
      return undefined;
    }
    const body = { carrier: trimmed(carrier), trackingNumber: trimmed(trackingNumbers[id] ?? '') };
    const text = JSON.stringify(body);
    const before = this.unknown.get(id);
    let etag = before?.text === text ? before.etag : undefined;
    if (etag === undefined) {
      const found = await etagToShip(this.shop, order, body);
      if ('shipped' in found) return body;
      etag = found.etag;
    }
    const { idempotencyKey } = this.sentOf(id, text, etag);
    await this.shop.POST('/store/order/{orderId}/shipment', { params: { path, header: etag === undefined ? {} : { 'If-Match': etag } }, body, idempotencyKey });
    return body;
  }

  private sentOf(id: number, text: string, etag?: string): Sent {
    const before = this.unknown.get(id);
    const sent = before?.text === text && before.etag === etag ? before : { idempotencyKey: crypto.randomUUID(), text, ...(etag !== undefined && { etag }) };
    this.unknown.set(id, sent);
    return sent;
  }
}
