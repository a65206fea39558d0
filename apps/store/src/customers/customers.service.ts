import { Injectable } from '@nestjs/common';
import type { CloseCustomer, OpenOrders } from '@plant-shop/contracts/store';
import { unavailable } from '@plant-shop/platform/errors';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { lockCustomer, markClosed, openOrdersOfCustomer, recordRefusedAttempt } from './customers.repository.js';

@Injectable()
export class CustomersService {
  constructor(private readonly database: Database) {}

  /**
   * Closes a customer whose user is being deleted, unless open orders remain. The store decides this, because it places the orders.
   * Idempotent.
   * @returns the open orders that keep the customer from being closed
   * @throws CodedError `unavailable` when identity no longer waits for this attempt, or a later attempt was refused: an abandoned
   * deletion must not take effect once the orders are closed
   */
  close({ deadline }: RpcContext, { userId, attempt = 0 }: CloseCustomer): Promise<OpenOrders> {
    return this.database.transaction(async (tx) => {
      const customer = await lockCustomer(tx, userId);
      if (customer.closed) return { openOrders: [] };
      if (deadline.isPast || attempt < customer.refusedAttempt) throw unavailable('store');
      // A separate statement: one that locked and read at once would read the snapshot from before its lock wait (write skew).
      const openOrders = await openOrdersOfCustomer(tx, userId);
      if (openOrders.length > 0) await recordRefusedAttempt(tx, userId, attempt);
      else await markClosed(tx, userId);
      return { openOrders };
    });
  }
}
