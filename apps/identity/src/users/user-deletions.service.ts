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
import { assertVersion, managed, userNotFound } from './user.js';
import { type Attempt, beginDeletion, deleteClientsOf, dropDeletion, findWhoAsked, takeOverDeletion } from './user-deletions.repository.js';
import { deleteUser, findUser, lockUser } from './users.repository.js';

/** A lease is longer than any call under it, so that two attempts do not work on one user at the same time. */
const leaseBeyondDeadlineMs = 5_000;
const storeDeadlineMs = 5_000;
/** Answers by which a service says that it did nothing. */
const nothingHappened = ['unavailable', 'overloaded'];
const maxTries = 3;

type Begun = Awaited<ReturnType<typeof beginDeletion>>;

const leaseMsOf = ({ deadline }: RpcContext): number => deadline.leftMs + leaseBeyondDeadlineMs;

/**
 * Deletes users, in steps that any process can carry on: note the intent; ask the store, which knows whether orders are
 * open and from then on takes no more of them; delete, or drop the intent.
 *
 * Nothing changes for the user until the last step: it may still be refused, and somebody who cannot log in could not
 * cancel the orders that it was refused for. What the user orders in between, the store decides.
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
    this.loop = new BackgroundLoop(loop, () => this.carryOnOne(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  async delete(context: RpcContext, { username, ifVersion }: DeleteUser): Promise<{ username: string }> {
    const { user, attempt } = await this.database.transaction(async (tx) => {
      const { userId } = managed(context.caller, await findUser(tx, username));
      const user = await lockUser(tx, userId);
      if (!user) throw userNotFound();
      assertVersion(user, ifVersion);
      await assertNotLastAdmin(tx, user);
      return { user, attempt: await beginDeletion(tx, userId, actorOf(context), leaseMsOf(context)) };
    });
    const openOrders = await this.closeCustomer(context, attempt);
    if (openOrders.length > 0) {
      throw new DomainError('user-has-open-orders', 'The user has open orders. The customer cancels those that are placed; those that are approved are delivered, or transferred by staff. Then delete the user.', {
        orders: openOrders,
      });
    }
    await this.finishAfterClosing(user.userId);
    return { username: user.username };
  }

  /** Carries on one deletion whose process died or lost an answer. @returns whether there may be another */
  async carryOnOne(): Promise<boolean> {
    const taken = await takeOverDeletion(this.database, storeDeadlineMs + leaseBeyondDeadlineMs);
    if (!taken) return false;
    tracing?.causedBy([]);
    const context = new RpcContext(`deletion-${taken.attempt}`, Deadline.in(storeDeadlineMs), undefined, tracing?.active?.traceparent);
    const openOrders = await this.ask(context, taken);
    if (openOrders.length === 0) await this.finish(taken.userId);
    this.logger.info({ userId: taken.userId, deleted: openOrders.length === 0 }, 'pending user deletion settled');
    return true;
  }

  /**
   * The open orders that keep the user, or none. An attempt that is older than one which the store has refused
   * meanwhile is made anew: it did nothing, and what the newer one was told belongs to somebody else's request.
   */
  private async closeCustomer(context: RpcContext, first: Begun): Promise<readonly number[]> {
    let begun = first;
    for (let tries = 1; ; tries++) {
      try {
        return await this.ask(context, begun);
      } catch (error) {
        if (!(error instanceof CodedError) || !nothingHappened.includes(error.code)) throw error;
        // "Nothing happened" is true of this attempt only. An earlier one may have closed the customer, and a later one
        // may have taken over while this process stood still: those go on.
        if (begun.isFirst && (await this.drop(begun))) throw error;
        if (tries === maxTries) throw outcomeUnknown('store', error);
      }
      const next = await this.beginAgain(context, begun.userId);
      if (!next) return [];
      begun = next;
    }
  }

  /** @returns undefined when the user is gone by now: another attempt was faster */
  private async beginAgain(context: RpcContext, userId: string): Promise<Begun | undefined> {
    try {
      return await this.database.transaction(async (tx) => {
        const user = await lockUser(tx, userId);
        return user && beginDeletion(tx, userId, actorOf(context), leaseMsOf(context));
      });
    } catch (error) {
      throw outcomeUnknown('identity', error);
    }
  }

  /** Asks the store, and drops the intent when it names open orders. */
  private async ask(context: RpcContext, attempt: Attempt): Promise<readonly number[]> {
    const { userId, attempt: number } = attempt;
    const { openOrders } = await this.rpc.call(store.closeCustomer, { userId, attempt: number }, context);
    if (openOrders.length > 0) await this.drop(attempt);
    return openOrders;
  }

  /** From here on the intent is carried on whatever happens: a failure is never "nothing happened". */
  private async finishAfterClosing(userId: string): Promise<void> {
    try {
      await this.finish(userId);
    } catch (error) {
      throw outcomeUnknown('identity', error);
    }
  }

  private async finish(userId: string): Promise<void> {
    const deleted = await this.database.transaction(async (tx) => {
      const askedBy = (await findWhoAsked(tx, userId)) ?? operator('unknown');
      const clients = await deleteClientsOf(tx, userId);
      const isGone = await deleteUser(tx, userId);
      // Another attempt was faster: it has written the log, too.
      if (isGone) {
        const others = clients.map((id) => ({ kind: 'client', id }) as const);
        await appendRevocations(tx, [...others, { kind: 'user', id: userId }]);
        if (askedBy.subject !== userId) audit(tx, askedBy, identity.deleteUser, userId);
      }
      return isGone;
    });
    if (!deleted) return;
    this.revocations.nudge();
    this.logger.info({ userId }, 'user deleted');
  }

  /**
   * An intent that cannot be dropped now goes on by itself: then the outcome is open.
   * @returns whether it was still this attempt's
   */
  private async drop(attempt: Attempt): Promise<boolean> {
    try {
      return await this.database.transaction((tx) => dropDeletion(tx, attempt));
    } catch (error) {
      throw outcomeUnknown('identity', error);
    }
  }
}
