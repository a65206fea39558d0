import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ShopError, ShopProblem } from '@plant-shop/client';

const CARRIER = 'Green Post';
/** Pause after a failure that outlasted the library's own repetitions. */
const PAUSE_MS = 5_000;

/** @typedef {import('@plant-shop/client').Shop} Shop */
/** @typedef {import('./book.mjs').Parcel} Parcel */

/**
 * Ships the orders of the book, one after another, until aborted.
 * @param {Shop} shop @param {import('./book.mjs').Book} book @param {AbortSignal} signal
 * @throws {ShopError} if the shop refuses for a reason that is not the order's, such as a missing permission
 */
export async function shipAll(shop, book, signal) {
  for (;;) {
    const parcel = await book.next(signal);
    try {
      const why = await ship(shop, parcel, book.slips, signal);
      book.finish(parcel.orderId, why === undefined ? 'shipped' : 'dropped', why);
      console.log(`order ${parcel.orderId}: ${why ?? `shipped as ${parcel.trackingNumber}`}`);
    } catch (error) {
      if (!(error instanceof ShopError) || error.outcome === 'refused') throw error;
      // It may have taken effect. The parcel is still to ship, and repeating it is safe.
      console.error(error.message);
      await sleep(PAUSE_MS, undefined, { signal });
    }
  }
}

/**
 * Reports the shipment, then writes the packing slip: once it is reported, the order cannot be cancelled. A run that was killed in between
 * repeats both, with the same key and into the same file.
 * @param {Shop} shop @param {Parcel} parcel @param {string} slips @param {AbortSignal} signal
 * @returns {Promise<string | undefined>} why the order is not to be shipped; undefined: it is shipped
 */
async function ship(shop, { orderId, trackingNumber }, slips, signal) {
  const path = { orderId };
  const { data: order } = await shop.GET('/store/order/{orderId}', { params: { path, query: { expand: ['plant'] } }, signal });
  const isReported = order.carrier === CARRIER && order.trackingNumber === trackingNumber;
  if (!isReported) {
    if (order.status !== 'approved') return `is ${order.status}`;
    if (order.carrier !== undefined) return `was shipped by others as ${order.trackingNumber}`;
    try {
      await shop.POST('/store/order/{orderId}/shipment', { params: { path }, body: { carrier: CARRIER, trackingNumber }, idempotencyKey: `shipment-${trackingNumber}`, signal });
    } catch (error) {
      // Cancelled since it was read.
      if (error instanceof ShopProblem && error.is('order-transition-refused')) return error.message;
      throw error;
    }
  }
  const file = join(slips, `${orderId}.txt`);
  writeFileSync(`${file}.part`, slipOf(order, trackingNumber), { flush: true });
  renameSync(`${file}.part`, file);
  return undefined;
}

/** @param {import('@plant-shop/client').components['schemas']['Order']} order @param {string} trackingNumber */
function slipOf({ id, quantity, plantId, plant, shipTo }, trackingNumber) {
  const address = shipTo ? [shipTo.name, ...(shipTo.lines ?? []), [shipTo.postalCode, shipTo.city].filter(Boolean).join(' '), shipTo.country] : [];
  return [`Order ${id}, parcel ${trackingNumber}`, `${quantity} × ${plant?.name ?? `plant ${plantId}`}`, ...address.filter(Boolean), ''].join('\n');
}
