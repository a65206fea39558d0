import { type Order, stateOf } from '../../shop/day.js';
import { headerOf, rowOf } from '../../../../../tools/plants/csv.mjs';

/** Rows per part of the file, which the browser may keep on disk. */
const partRows = 2_000;

// Times as spreadsheets read them.
const utc = (at: string | undefined): string => (at === undefined ? '' : at.slice(0, 19).replace('T', ' '));

const columns: readonly (readonly [title: string, value: (order: Order) => string])[] = [
  ['Order', ({ id }) => String(id)],
  ['Status', stateOf],
  ['Placed (UTC)', ({ placedAt }) => utc(placedAt)],
  ['Pay until (UTC)', ({ reservedUntil }) => utc(reservedUntil)],
  ['Plant number', ({ plantId }) => String(plantId)],
  ['Plant', ({ plant }) => plant?.name ?? ''],
  ['Units', ({ quantity }) => String(quantity)],
  ['Owner', ({ owner }) => owner ?? ''],
  ['Carrier', ({ carrier }) => carrier ?? ''],
  ['Tracking number', ({ trackingNumber }) => trackingNumber ?? ''],
  ['Refund', ({ refund }) => refund ?? ''],
  ['Basket', ({ basketId = '' }) => String(basketId)],
  ['External id', ({ externalId }) => externalId ?? ''],
  ['Ship to', ({ shipTo }) => shipTo?.name ?? ''],
  ['Address', ({ shipTo }) => shipTo?.lines?.join(', ') ?? ''],
  // In one cell, a postal code keeps its zeros.
  ['Postal code and city', ({ shipTo }) => [shipTo?.postalCode, shipTo?.city].filter((one) => one !== undefined).join(' ')],
  ['Country', ({ shipTo }) => shipTo?.country ?? ''],
];

/** @param onProgress called with the number of orders so far @throws what reading them throws, so that no partial file is saved */
export async function exportOrders(orders: AsyncIterable<Order> | Iterable<Order>, onProgress: (count: number) => void): Promise<{ readonly file: Blob; readonly count: number }> {
  const parts: Blob[] = [];
  let rows = [headerOf(columns.map(([title]) => title))];
  let count = 0;
  for await (const order of orders) {
    rows.push(rowOf(columns.map(([, value]) => value(order))));
    count += 1;
    if (count % partRows !== 0) continue;
    parts.push(new Blob(rows));
    rows = [];
    onProgress(count);
  }
  return { file: new Blob([...parts, ...rows], { type: 'text/csv' }), count };
}
