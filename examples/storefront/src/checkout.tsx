import { type Shop, ShopError } from '@plant-shop/client';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { type Basket, type Payment, payments } from './basket.js';
import { beginLogin } from './login.js';
import { lackingOf, messageOf } from './shop.js';

export function Checkout({ shop, basket }: { readonly shop: Shop | undefined; readonly basket: Basket }): ReactElement {
  const [payment, setPayment] = useState<Payment>('test_approve');
  const [refusal, setRefusal] = useState<unknown>();
  const [placed, setPlaced] = useState<number>();
  const { lines, attempt } = basket;

  const order = async (loggedIn: Shop): Promise<void> => {
    setRefusal(undefined);
    const { key, payment: chosen } = basket.begin(payment);
    try {
      const body = { lines: lines.map(({ plantId, quantity }) => ({ plantId, quantity })), metadata: { payment: chosen } };
      const { data } = await loggedIn.POST('/store/basket', { body, idempotencyKey: key });
      basket.empty();
      setPlaced(data.id);
    } catch (error) {
      // Otherwise it may have been placed: the attempt stays, and ordering again repeats it with its key.
      if (error instanceof ShopError && error.outcome === 'refused') basket.end();
      setRefusal(error);
    }
  };

  // The page was closed before the answer came.
  const isResumed = useRef(false);
  useEffect(() => {
    if (!shop || !attempt || isResumed.current) return;
    isResumed.current = true;
    void order(shop);
  });

  const lacking = lackingOf(refusal);
  return (
    <section aria-labelledby="basket">
      <h2 id="basket">Basket</h2>
      {lines.length === 0 && <p>{placed === undefined ? 'The basket is empty.' : `Thank you: basket ${placed} is ordered.`}</p>}
      <ul aria-label="Lines">
        {lines.map(({ plantId, name, quantity }, n) => {
          const lack = lacking.find(({ pointer }) => pointer === `/lines/${n}`);
          return (
            <li key={plantId}>
              <label>
                {name} <input type="number" min={0} max={1_000_000} disabled={attempt !== undefined} value={quantity} onChange={(event) => basket.set(plantId, event.target.valueAsNumber)} />
              </label>
              {lack && <span role="alert">{lack.available === undefined ? 'not enough in stock' : `only ${lack.available} left`}</span>}
            </li>
          );
        })}
      </ul>
      {refusal !== undefined && lacking.length === 0 && <p role="alert">{messageOf(refusal)}</p>}
      {lines.length > 0 && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void (shop ? order(shop) : beginLogin());
          }}
        >
          <label>
            Test payment{' '}
            <select value={attempt?.payment ?? payment} disabled={attempt !== undefined} onChange={(event) => setPayment(event.target.value as Payment)}>
              {payments.map((one) => <option key={one}>{one}</option>)}
            </select>
          </label>
          <button>{shop ? 'Order and pay' : 'Log in to order'}</button>
        </form>
      )}
    </section>
  );
}
