import { Injectable } from '@nestjs/common';
import type { CloseCustomer, OpenOrders } from '@plant-shop/contracts/store';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { assertNotAbandoned } from '@plant-shop/platform/saga/refused-attempts';
import { lockCustomer, markClosed, openOrdersOfCustomer, recordRefusedAttempt } from './customers.repository.js';

@Injectable()
export class CustomersService {
  constructor(private readonly database: Database) {}

  /**
   * Closes a customer whose user is being deleted, unless open orders remain. The store decides this, because it places the orders.
   * Idempotent.
   * @returns the open orders that keep the customer from being closed
   * @throws CodedError `unavailable` for an abandoned attempt
   */
  close(context: RpcContext, { userId, attempt = 0 }: CloseCustomer): Promise<OpenOrders> {
    return this.database.transaction(async (tx) => {
      const customer = await lockCustomer(tx, userId);
      if (customer.closed) return { openOrders: [] };
      assertNotAbandoned(context, attempt, customer.refusedAttempt);
      // A separate statement: one that locked and read at once would read the snapshot from before its lock wait (write skew).
      const openOrders = await openOrdersOfCustomer(tx, userId);
      if (openOrders.length > 0) await recordRefusedAttempt(tx, userId, attempt);
      else await markClosed(tx, userId);
      return { openOrders };
    });
  }
}
