import type { Shop, StreamState } from '@plant-shop/client';
import { type ReactElement, useEffect, useState } from 'react';
import { messageOf, type Order } from './shop.js';

/** How often a placed order's timeline is read: a failed payment is no event. */
const PAYMENT_MS = 2_000;
const SHOWN = 20;

/** The user's newest orders, as they change. */
export function Orders({ shop }: { readonly shop: Shop }): ReactElement {
  const [orders, setOrders] = useState<readonly Order[]>([]);
  const [connection, setConnection] = useState<StreamState['state']>('disconnected');
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    const show = (read: readonly Order[]): void =>
      setOrders((shown) => [...new Map([...shown, ...read].map((one) => [one.id, one])).values()].sort((a, b) => b.id - a.id).slice(0, SHOWN));
    follow(shop, { signal: stop.signal, show, onState: ({ state }) => setConnection(state) }).catch((caught: unknown) => !stop.signal.aborted && setError(caught));
    return () => stop.abort();
  }, [shop]);
  return (
    <section aria-labelledby="orders">
      <h2 id="orders">Your orders</h2>
      <p role="status">{connection === 'connected' ? 'Live' : 'Connecting…'}</p>
      {error !== undefined && <p role="alert">{messageOf(error)}</p>}
      <ul aria-label="Orders">{orders.map((order) => <OrderRow key={order.id} shop={shop} order={order} />)}</ul>
    </section>
  );
}

interface Following {
  readonly signal: AbortSignal;
  readonly show: (orders: readonly Order[]) => void;
  readonly onState: (state: StreamState) => void;
}

/** Reads the orders, then each order that has an event. The stream is open before the first read, so no change is missed. */
async function follow(shop: Shop, { signal, show, onState }: Following): Promise<void> {
  const events = shop.events({ cursor: 'latest', types: ['order.placed', 'order.status_changed', 'order.shipped'], signal, onState });
  await events.opened();
  const readAll = async (): Promise<readonly Order[]> => (await shop.GET('/store/order', { params: { query: { sort: '-placedAt', expand: ['plant'], limit: SHOWN } }, signal })).data;
  show(await readAll());
  for await (const event of events) {
    if (event.event === 'stream.gap') show(await readAll());
    else show([(await shop.GET('/store/order/{orderId}', { params: { path: { orderId: event.data.orderId }, query: { expand: ['plant'] } }, signal })).data]);
  }
}

function OrderRow({ shop, order }: { readonly shop: Shop; readonly order: Order }): ReactElement {
  const reservedUntil = useFailedPayment(shop, order);
  const [error, setError] = useState<unknown>();
  const cancel = (): void => {
    setError(undefined);
    // Its event shows the rest.
    shop.DELETE('/store/order/{orderId}', { params: { path: { orderId: order.id } } }).catch(setError);
  };
  return (
    <li>
      <span>{`${order.id}: ${order.quantity} × ${order.plant?.name ?? `plant ${order.plantId}`}`}</span>
      <strong>{order.carrier !== undefined && order.status === 'approved' ? 'shipped' : order.status}</strong>
      {order.status === 'placed' && (
        <>
          {reservedUntil !== undefined && <span>{`The payment failed. Reserved until ${new Date(reservedUntil).toLocaleTimeString()}.`}</span>}
          <button onClick={cancel} aria-label={`Cancel order ${order.id}`}>
            Cancel
          </button>
        </>
      )}
      {error !== undefined && <span role="alert">{messageOf(error)}</span>}
    </li>
  );
}

/** Returns until when the units of an order are reserved although a payment failed; undefined: none has. The order can be paid until then. */
function useFailedPayment(shop: Shop, { id, status }: Order): string | undefined {
  const [reservedUntil, setReservedUntil] = useState<string>();
  const isWaiting = status === 'placed' && reservedUntil === undefined;
  useEffect(() => {
    if (!isWaiting) return undefined;
    const stop = new AbortController();
    const call = { params: { path: { orderId: id } }, signal: stop.signal };
    const read = async (): Promise<void> => {
      const { data: timeline } = await shop.GET('/store/order/{orderId}/timeline', call);
      if (timeline.some(({ reason }) => reason === 'payment failed')) setReservedUntil((await shop.GET('/store/order/{orderId}', call)).data.reservedUntil);
    };
    // A reading that fails is repeated by the next one.
    const timer = setInterval(() => void read().catch(() => undefined), PAYMENT_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [shop, id, isWaiting]);
  return reservedUntil;
}
