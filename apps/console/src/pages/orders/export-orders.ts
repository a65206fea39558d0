import { type Order, stateOf } from '../../shop/day.js';
import { headerOf, rowOf } from '../../../../../tools/plants/csv.mjs';

/** Rows per part of the file, which the browser may keep on disk. */
const partRows = 2_000;

// Times as spreadsheets read them.
const utc = (at: string | undefined): string => (at === undefined ? '' : at.slice(0, 19).replace('T', ' '));
/** Spreadsheets would drop leading zeros, digits after the fifteenth, and take 1E10 for a number. */
const asText = (text = ''): string => (/^0\d+$|^\d{16,}$|^\d+e\d+$/i.test(text) ? `'${text}` : text);

const columns: readonly (readonly [title: string, value: (order: Order) => string])[] = [
  ['Order', ({ id }) => asText(String(id))],
  ['Status', stateOf],
  ['Placed (UTC)', ({ placedAt }) => utc(placedAt)],
  ['Pay until (UTC)', ({ reservedUntil }) => utc(reservedUntil)],
  ['Plant number', ({ plantId }) => asText(String(plantId))],
  ['Plant', ({ plant }) => plant?.name ?? ''],
  ['Units', ({ quantity }) => String(quantity)],
  ['Owner', ({ owner }) => asText(owner)],
  ['Carrier', ({ carrier }) => asText(carrier)],
  ['Tracking number', ({ trackingNumber }) => asText(trackingNumber)],
  ['Refund', ({ refund }) => refund ?? ''],
  ['Basket', ({ basketId }) => asText(basketId === undefined ? '' : String(basketId))],
  ['External id', ({ externalId }) => asText(externalId)],
  ['Ship to', ({ shipTo }) => asText(shipTo?.name)],
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
