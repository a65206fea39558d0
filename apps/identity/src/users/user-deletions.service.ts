import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type DeleteUser, identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { leaseMsOf } from '@plant-shop/platform/saga/intent-table';
import { type Saga, type SagaOutcome, SagaRunner } from '@plant-shop/platform/saga/saga-runner';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { assertNotLastAdmin } from './last-admin.js';
import { assertVersion, requireManageable, userNotFound } from './user.js';
import { deleteClientsOf, dropDeletion, type UserDeletion, userDeletions } from './user-deletions.repository.js';
import { deleteUser, findUser, lockUser } from './users.repository.js';

const openOrdersText =
  'The user has open orders. Placed orders can be cancelled by the customer; approved ones must be delivered, or ' +
  'transferred by staff. Then delete the user.';

/** The orders for which the store refuses to close a customer. */
type OpenOrders = readonly number[];

/**
 * Deletes users together with the store. Nothing changes for the user before the last step: the deletion may still be refused for
 * open orders, and the user must be able to log in to cancel them. The store decides about orders placed in between.
 */
@Injectable()
export class UserDeletionsService extends SagaRunner<string, Omit<UserDeletion, 'isFirst'>> {
  constructor(
    database: Database,
    private readonly rpc: RpcClient,
    private readonly revocations: RevocationsService,
    @Inject(IDENTITY_OPTIONS) options: IdentityOptions,
    @InjectLogger() logger: Logger,
  ) {
    super(database, userDeletions, { name: 'user deletions', intervalMs: options.deletionIntervalMs }, logger);
  }

  private readonly deletion: Saga<UserDeletion, OpenOrders> = {
    ask: async (context, { key: userId, attempt }) => {
      const { openOrders } = await this.rpc.call(store.closeCustomer, { userId, attempt }, context);
      return openOrders.length > 0 ? openOrders : undefined;
    },
    complete: async ({ key: userId }) => {
      const deleted = await this.database.transaction(async (tx) => {
        const requester = await userDeletions.requesterOf(tx, userId);
        const clients = await deleteClientsOf(tx, userId);
        const isGone = await deleteUser(tx, userId);
        // Otherwise another attempt has deleted the user and written the log.
        if (isGone) {
          const others = clients.map((id) => ({ kind: 'client', id }) as const);
          await appendRevocations(tx, [...others, { kind: 'user', id: userId }]);
          if (requester.subject !== userId) audit(tx, requester, identity.deleteUser, userId);
        }
        return isGone;
      });
      if (!deleted) return false;
      this.revocations.nudge();
      this.logger.info({ userId }, 'user deleted');
      return true;
    },
    withdraw: (deletion) => this.database.transaction((tx) => dropDeletion(tx, deletion)),
    unknown: () =>
      'It is not known yet whether the user was deleted. The shop completes or withdraws the deletion in the background. ' +
      'Read the user to see the result.',
  };

  async delete(context: RpcContext, { username, ifVersion }: DeleteUser): Promise<{ username: string }> {
    const { user, deletion } = await this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.principal, await findUser(tx, username));
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      assertVersion(user, ifVersion);
      await assertNotLastAdmin(tx, user);
      return { user, deletion: await userDeletions.begin(tx, userId, actorOf(context), leaseMsOf(context)) };
    });
    if (!deletion) throw userNotFound();
    const { refusal } = await this.close(context, deletion);
    if (refusal) throw new DomainError('user-has-open-orders', openOrdersText, { orders: refusal });
    return { username: user.username };
  }

  /** Runs a deletion whose intent is committed. */
  close(context: RpcContext, deletion: UserDeletion): Promise<SagaOutcome<OpenOrders>> {
    return this.execute(context, this.deletion, deletion);
  }

  protected resume(context: RpcContext, deletion: Omit<UserDeletion, 'isFirst'>): Promise<SagaOutcome<OpenOrders>> {
    return this.attempt(context, this.deletion, { ...deletion, isFirst: false });
  }
}
