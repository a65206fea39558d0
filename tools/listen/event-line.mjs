/**
 * An event as clients receive it. A resumable stream adds `id` and `cursor`; webhooks do not.
 * @typedef {object} Event
 * @property {string} event
 * @property {string} [timestamp]
 * @property {Record<string, unknown>} [data]
 * @property {string} [id]
 * @property {string} [cursor]
 */

const colourOf = /** @type {Record<string, number>} */ ({ placed: 36, approved: 33, delivered: 32, cancelled: 31 });

/** Returns whether output may use colours. @param {NodeJS.WriteStream} stream */
export const isPainted = (stream) => stream.isTTY === true && !process.env['NO_COLOR'];

/**
 * Formats an event as one line.
 * @param {Event} event
 * @param {boolean} colours
 */
export function lineOf({ event, timestamp = '', data = {} }, colours) {
  const paint = painter(colours);
  const time = paint(90, timestamp);
  if (event === 'order.status_changed') {
    const { orderId, plantId, previousStatus, newStatus, trackingNumber } = data;
    const length = `${previousStatus} → ${newStatus}`.length;
    const change = `${painted(paint, previousStatus)} → ${painted(paint, newStatus)}`;
    const tail = trackingNumber ? `${' '.repeat(Math.max(0, 20 - length))}  ${trackingNumber}` : '';
    return `${time}  order ${orderId}  plant ${plantId}  ${change}${tail}`;
  }
  if (event.startsWith('stock.')) return `${time}  plant ${data['plantId']}  ${event}  ${data['free']} free`;
  const of = `${time}  order ${data['orderId']}  plant ${data['plantId']}`;
  if (event === 'order.placed') return `${of}  ${data['quantity']} ${data['quantity'] === 1 ? 'unit' : 'units'} ${painted(paint, 'placed')}`;
  if (event === 'order.shipped') return `${of}  shipped by ${data['carrier']}  ${data['trackingNumber']}`;
  if (event === 'refund.due') return `${of}  ${paint(31, 'refund due')} ${data['refundId']}`;
  if (event === 'stream.gap') return `${time}  ${paint(31, 'a gap: events before this one may be missing')} (${data['reason']})`;
  if (event === 'webhook.test') return `${time}  a test of webhook ${data['webhookId']}`;
  return [time, event, JSON.stringify(data)].filter(Boolean).join('  ');
}

/** @param {boolean} colours @returns {(code: number, text: string) => string} */
export const painter = (colours) => (colours ? (code, text) => `\u001b[${code}m${text}\u001b[0m` : (_, text) => text);

/** @param {(code: number, text: string) => string} paint @param {unknown} status */
const painted = (paint, status) => paint(colourOf[`${status}`] ?? 37, `${status}`);
