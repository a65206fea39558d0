/**
 * Adds every order that is paid to the book, until aborted.
 * @param {import('@plant-shop/client').Shop} shop
 * @param {import('./book.mjs').Book} book
 * @param {AbortSignal} signal
 */
export async function follow(shop, book, signal) {
  const events = shop.events({ cursor: book.cursor ?? 'latest', newStatus: 'approved', signal, onCursor: (cursor) => book.add(cursor) });
  await events.opened();
  // A new book: what was paid earlier. Later events wait in the stream, so no order is missed.
  if (book.cursor === undefined) book.add(events.cursor, await toShip(shop, signal));
  for await (const event of events) {
    // Events are missing, since the cursor was too old or the shop was restored from a backup: the orders themselves tell.
    if (event.event === 'stream.gap') book.add(event.cursor, await toShip(shop, signal));
    else book.add(event.cursor, [event.data.orderId]);
  }
}

/** Returns the ids of all orders that are paid and not shipped. @param {import('@plant-shop/client').Shop} shop @param {AbortSignal} signal */
async function toShip(shop, signal) {
  const ids = [];
  for await (const { id } of shop.list('/store/order', { owner: '*', status: ['approved'], shipped: false }, { signal })) ids.push(id);
  return ids;
}
