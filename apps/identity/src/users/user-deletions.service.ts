import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type DeleteUser, identity } from '@plant-shop/contracts/identity';
import { type OpenOrders, store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { leaseMsOf } from '@plant-shop/platform/patterns/saga/intent-table';
import { type Saga, type SagaOutcome, SagaRunner } from '@plant-shop/platform/patterns/saga/saga-runner';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { MailOutbox } from '../mail/outbox.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { assertVersion, requireManageable, userNotFound } from './user.js';
import { deleteUser, findUser, isAudited, lockUser } from './users.repository.js';
import { assertNotLastAdmin } from './last-admin.js';
import { type UserDeletion, userDeletions, withdrawDeletion, deleteClientsOf } from './user-deletions.repository.js';

const openOrdersText =
  'The user has open orders. Placed orders can be cancelled by the customer; approved ones must be delivered, or ' +
  'transferred by staff. Then delete the user.';

type OrderIds = OpenOrders['openOrders'];

/**
 * Deletes a user in two services: the store closes the customer, then identity deletes the user. Until then the user can log in, to
 * cancel orders that prevent the deletion. Once the customer is closed, the user can place no orders.
 */
@Injectable()
export class UserDeletionsService extends SagaRunner<string, Omit<UserDeletion, 'isFirst'>> {
  constructor(
    database: Database,
    private readonly rpc: RpcClient,
    private readonly revocations: RevocationsService,
    private readonly outbox: MailOutbox,
    @Inject(IDENTITY_OPTIONS) options: IdentityOptions,
    @InjectLogger() logger: Logger,
  ) {
    super(database, userDeletions, { name: 'user deletions', intervalMs: options.deletionIntervalMs }, logger);
  }

  private readonly steps: Saga<UserDeletion, OrderIds> = {
    ask: async (context, { key: userId, attempt }) => {
      const { openOrders } = await this.rpc.call(store.closeCustomer, { userId, attempt }, context);
      return openOrders.length > 0 ? openOrders : undefined;
    },
    complete: async ({ key: userId }) => {
      const isDeletedHere = await this.database.transaction(async (tx) => {
        const requester = await userDeletions.requesterOf(tx, userId);
        const user = await lockUser(tx, userId);
        if (!user) return false;
        await this.outbox.forget(tx, user);
        const clients = await deleteClientsOf(tx, userId);
        // If the user is gone, another attempt has deleted it and written the logs.
        if (!(await deleteUser(tx, userId))) return false;
        const others = clients.map((id) => ({ kind: 'client', id }) as const);
        await appendRevocations(tx, [...others, { kind: 'user', id: userId }]);
        if (isAudited(requester, userId)) audit(tx, requester, identity.deleteUser, userId);
        return true;
      });
      if (!isDeletedHere) return false;
      this.revocations.publish();
      this.logger.info({ userId }, 'user deleted');
      return true;
    },
    withdraw: (attempt) => this.database.transaction((tx) => withdrawDeletion(tx, attempt)),
    unknown: () =>
      'It is not known yet whether the user was deleted. The shop completes or withdraws the deletion in the background. ' +
      'Read the user to see the result.',
  };

  /**
   * Deletes a user, unless the store has open orders of theirs.
   * @throws DomainError `forbidden`, `user-not-found`, `precondition-failed`, `last-admin`, `user-has-open-orders` (with `orders`, at
   * most 100 ids); CodedError `unavailable` or `overloaded` if nothing happened, `outcome-unknown` while it is not known whether the
   * user was deleted
   */
  async delete(context: RpcContext, { username, ifVersion }: DeleteUser): Promise<{ username: string }> {
    const { user, attempt } = await this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.principal, await findUser(tx, username));
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      assertVersion(user, ifVersion);
      await assertNotLastAdmin(tx, user);
      // Only what others do to a user is audited, so the user's own request does not replace theirs.
      const options = { replacesRequester: context.principal.subject !== userId };
      return { user, attempt: await userDeletions.begin(tx, userId, actorOf(context), leaseMsOf(context), options) };
    });
    if (!attempt) throw userNotFound();
    const { refusal } = await this.runAttempt(context, attempt);
    if (refusal) throw new DomainError('user-has-open-orders', openOrdersText, { orders: refusal });
    return { username: user.username };
  }

  /** Runs the steps of an attempt that is committed. @throws as `SagaRunner.execute` */
  runAttempt(context: RpcContext, attempt: UserDeletion): Promise<SagaOutcome<OrderIds>> {
    return this.execute(context, this.steps, attempt);
  }

  protected resume(context: RpcContext, attempt: Omit<UserDeletion, 'isFirst'>): Promise<SagaOutcome<OrderIds>> {
    return this.resumeAttempt(context, this.steps, { ...attempt, isFirst: false });
  }
}
