import { Injectable } from '@nestjs/common';
import type { CloseCustomer, OpenOrders } from '@plant-shop/contracts/store';
import { unavailable } from '@plant-shop/platform/errors';
import { Database } from '@plant-shop/platform/postgres/database';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { lockCustomer, markClosed, noteRefusedAttempt, openOrdersOfCustomer } from './customers.repository.js';

@Injectable()
export class CustomersService {
  constructor(private readonly database: Database) {}

  /**
   * Decides here, where orders are placed, whether a user may be deleted. Repeating it changes nothing.
   * @throws CodedError `unavailable` when identity no longer waits for this attempt, or was refused a later one: a
   * deletion that was given up must not happen after its orders are closed
   */
  close({ deadline }: RpcContext, { userId, attempt = 0 }: CloseCustomer): Promise<OpenOrders> {
    return this.database.transaction(async (tx) => {
      const customer = await lockCustomer(tx, userId);
      if (customer.closed) return { openOrders: [] };
      if (deadline.isPast || attempt < customer.refusedAttempt) throw unavailable('store');
      // A new statement: one that locked and looked at once would look at the time before its wait (write skew).
      const openOrders = await openOrdersOfCustomer(tx, userId);
      if (openOrders.length > 0) await noteRefusedAttempt(tx, userId, attempt);
      else await markClosed(tx, userId);
      return { openOrders };
    });
  }
}
