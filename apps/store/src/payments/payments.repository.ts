import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { PaymentState } from './payment.js';

/** Call under the lock of the order. */
export async function findPayment(tx: Transaction, orderId: number, reference: string): Promise<PaymentState | undefined> {
  const [row] = await tx.query<{ state: PaymentState }>(
    'SELECT state FROM payments WHERE order_id = $1 AND reference = $2',
    [orderId, reference],
  );
  return row?.state;
}

export function savePayment(
  tx: Transaction,
  payment: { readonly orderId: number; readonly reference: string; readonly state: PaymentState },
): void {
  tx.send(
    `INSERT INTO payments (order_id, reference, state) VALUES ($1, $2, $3)
     ON CONFLICT (order_id, reference) DO UPDATE SET state = excluded.state, at = now()`,
    [payment.orderId, payment.reference, payment.state],
  );
}
