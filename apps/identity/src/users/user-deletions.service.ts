import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { type DeleteUser, identity } from '@plant-shop/contracts/identity';
import { store } from '@plant-shop/contracts/store';
import { actorOf, audit, operator } from '@plant-shop/platform/audit/audit-log';
import { CodedError, outcomeUnknown } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { tracing } from '@plant-shop/platform/telemetry/tracing';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { assertNotLastAdmin } from './roles.js';
import { assertVersion, requireManageable, userNotFound } from './user.js';
import {
  beginDeletion,
  deleteClientsOf,
  type DeletionAttempt,
  dropDeletion,
  findRequester,
  takeOverDeletion,
} from './user-deletions.repository.js';
import { deleteUser, findUser, lockUser } from './users.repository.js';

/** A lease outlasts every call under it, so that two attempts do not process one user at the same time. */
const leaseBeyondDeadlineMs = 5_000;
const storeDeadlineMs = 5_000;
/** Error codes with which a service reports that it did nothing. */
const noEffectCodes = ['unavailable', 'overloaded'];
const maxAttempts = 3;
const openOrdersText =
  'The user has open orders. Placed orders can be cancelled by the customer; approved ones must be delivered, or ' +
  'transferred by staff. Then delete the user.';

type StartedAttempt = Awaited<ReturnType<typeof beginDeletion>>;

const leaseMsOf = ({ deadline }: RpcContext): number => deadline.leftMs + leaseBeyondDeadlineMs;

/**
 * Deletes users in three steps, which any replica can resume:
 * 1. Record the intent.
 * 2. Ask the store to close the customer. It returns open orders, or accepts no more orders from then on.
 * 3. Delete the user, or drop the intent if there are open orders.
 *
 * Nothing changes for the user before the last step: the deletion may still be refused for open orders, and the user must
 * be able to log in to cancel them. The store decides about orders placed in between.
 */
@Injectable()
export class UserDeletionsService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly revocations: RevocationsService,
    @Inject(IDENTITY_OPTIONS) options: IdentityOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    const loop = { name: 'user deletions', intervalMs: options.deletionIntervalMs };
    this.loop = new BackgroundLoop(loop, () => this.resumeOne(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  async delete(context: RpcContext, { username, ifVersion }: DeleteUser): Promise<{ username: string }> {
    const { user, attempt } = await this.database.transaction(async (tx) => {
      const { userId } = requireManageable(context.caller, await findUser(tx, username));
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      assertVersion(user, ifVersion);
      await assertNotLastAdmin(tx, user);
      return { user, attempt: await beginDeletion(tx, userId, actorOf(context), leaseMsOf(context)) };
    });
    const openOrders = await this.closeCustomer(context, attempt);
    if (openOrders.length > 0) {
      throw new DomainError('user-has-open-orders', openOrdersText, { orders: openOrders });
    }
    await this.finishAfterClosing(user.userId);
    return { username: user.username };
  }

  /** Resumes one deletion whose process died or lost an answer. @returns whether there may be another */
  async resumeOne(): Promise<boolean> {
    const attempt = await takeOverDeletion(this.database, storeDeadlineMs + leaseBeyondDeadlineMs);
    if (!attempt) return false;
    tracing?.causedBy([]);
    const context = new RpcContext(`deletion-${attempt.attempt}`, Deadline.in(storeDeadlineMs), undefined, tracing?.active?.traceparent);
    const openOrders = await this.askStore(context, attempt);
    if (openOrders.length === 0) await this.finish(attempt.userId);
    this.logger.info({ userId: attempt.userId, deleted: openOrders.length === 0 }, 'pending user deletion completed');
    return true;
  }

  /**
   * Asks the store to close the customer and returns the open orders that prevent it. The store ignores an attempt that is
   * older than one it refused meanwhile. Such an attempt is repeated with a new number: it had no effect, and the answer to
   * the newer attempt belongs to another request.
   */
  private async closeCustomer(context: RpcContext, first: StartedAttempt): Promise<readonly number[]> {
    let attempt = first;
    for (let tries = 1; ; tries++) {
      try {
        return await this.askStore(context, attempt);
      } catch (error) {
        if (!(error instanceof CodedError) || !noEffectCodes.includes(error.code)) throw error;
        // The code says only that this attempt had no effect. An earlier one may have closed the customer, and a later one
        // may have taken over while this process was paused; both continue.
        if (attempt.isFirst && (await this.drop(attempt))) throw error;
        if (tries === maxAttempts) throw outcomeUnknown('store', error);
      }
      const next = await this.beginAgain(context, attempt.userId);
      if (!next) return [];
      attempt = next;
    }
  }

  /** Takes over the intent with a new attempt. @returns undefined when another attempt has deleted the user */
  private async beginAgain(context: RpcContext, userId: string): Promise<StartedAttempt | undefined> {
    try {
      return await this.database.transaction(async (tx) => {
        const user = await lockUser(tx, userId);
        return user && beginDeletion(tx, userId, actorOf(context), leaseMsOf(context));
      });
    } catch (error) {
      throw outcomeUnknown('identity', error);
    }
  }

  /** Asks the store to close the customer, and drops the intent when it returns open orders. */
  private async askStore(context: RpcContext, attempt: DeletionAttempt): Promise<readonly number[]> {
    const { userId, attempt: number } = attempt;
    const { openOrders } = await this.rpc.call(store.closeCustomer, { userId, attempt: number }, context);
    if (openOrders.length > 0) await this.drop(attempt);
    return openOrders;
  }

  /** Deletes the user. The intent is completed even if this fails, so a failure is reported as `outcome-unknown`. */
  private async finishAfterClosing(userId: string): Promise<void> {
    try {
      await this.finish(userId);
    } catch (error) {
      throw outcomeUnknown('identity', error);
    }
  }

  private async finish(userId: string): Promise<void> {
    const deleted = await this.database.transaction(async (tx) => {
      const requester = (await findRequester(tx, userId)) ?? operator('unknown');
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
    if (!deleted) return;
    this.revocations.nudge();
    this.logger.info({ userId }, 'user deleted');
  }

  /**
   * Drops the intent. If that fails, a replica resumes the intent later, so the outcome is unknown.
   * @returns false when another attempt has taken over
   */
  private async drop(attempt: DeletionAttempt): Promise<boolean> {
    try {
      return await this.database.transaction((tx) => dropDeletion(tx, attempt));
    } catch (error) {
      throw outcomeUnknown('identity', error);
    }
  }
}
