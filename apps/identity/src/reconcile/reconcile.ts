import { Controller, Injectable } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import { mendedUnless, type RaisedNumber, type RaiseNumbers, type ReconciledPage, type ReconcileUsers, type RepairResult, type UserFinding } from '@plant-shop/contracts/reconcile';
import { store } from '@plant-shop/contracts/store';
import { actorOf } from '@plant-shop/platform/patterns/audit-log';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Reader } from '@plant-shop/platform/postgres/database';
import { raiseSequences } from '@plant-shop/platform/postgres/sequences';
import { type ComparedPage, reconcilePage } from '@plant-shop/platform/patterns/reconcile';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { leaseMsOf } from '@plant-shop/platform/patterns/saga/intent-table';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { UserDeletionsService } from '../users/user-deletions.service.js';
import { userDeletions } from '../users/user-deletions.repository.js';
import { lockUser } from '../users/users.repository.js';
import { type ComparedUser, type Drift, driftsOf } from './drift.js';

function findUsersToCompare(db: Reader, userIds: readonly string[]): Promise<ComparedUser[]> {
  return db.query(
    `SELECT users.user_id AS "userId", users.username, user_deletions.user_id IS NOT NULL AS "isBeingDeleted"
     FROM users LEFT JOIN user_deletions ON user_deletions.user_id = users.user_id
     WHERE users.user_id = ANY($1::uuid[])`,
    [userIds],
  );
}

const attemptMargin = 1_000_000;

/** Compares the store's customers with the users after either database was restored, and repairs the differences. */
@Injectable()
export class ReconcileService {
  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly deletions: UserDeletionsService,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Raises the number of deletion attempts: the store ignores attempts older than one that it refused. */
  async raiseNumbers(context: RpcContext, { dryRun = false }: RaiseNumbers): Promise<{ raised: RaisedNumber[] }> {
    const { closeAttempt } = await this.rpc.call(store.readHighestNumbers, {}, context);
    const wanted = [{ sequence: 'deletion_attempts', known: closeAttempt, margin: attemptMargin }];
    return { raised: await raiseSequences(this.database, context, identity.raiseNumbers, wanted, { dryRun, logger: this.logger }) };
  }

  reconcile(
    context: RpcContext,
    { after, limit = 500, dryRun = false }: ReconcileUsers,
  ): Promise<ReconciledPage<UserFinding, string>> {
    const page = { limit, ...(after !== undefined && { after }) };
    return reconcilePage({
      compare: () => this.compare(context, page),
      describe: (drift: Drift) => drift,
      repair: ({ drift, userId }) => (drift === 'user-deleted' ? this.deleteAgain(context, userId) : this.closeCustomer(context, userId)),
      dryRun,
      logger: this.logger,
    });
  }

  /** Reads customers before users: each customer was a user at that time, and still is one or was deleted since. */
  private async compare(
    context: RpcContext,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<ComparedPage<Drift, string>> {
    const customers = await this.rpc.call(store.listCustomers, page, context);
    const users = await findUsersToCompare(
      this.database,
      customers.map(({ userId }) => userId),
    );
    const end = customers.length < page.limit ? undefined : customers.at(-1)?.userId;
    return { checked: customers.length, end, drifts: driftsOf(customers, users) };
  }

  /** @returns undefined when the user has been deleted, or another deletion has started, meanwhile */
  private async deleteAgain(context: RpcContext, userId: string): Promise<RepairResult | undefined> {
    const deletion = await this.database.transaction(async (tx) => {
      if (!(await lockUser(tx, userId))) return undefined;
      const [user] = await findUsersToCompare(tx, [userId]);
      if (user?.isBeingDeleted !== false) return undefined;
      return userDeletions.begin(tx, userId, actorOf(context), leaseMsOf(context));
    });
    if (!deletion) return undefined;
    const { refusal } = await this.deletions.runAttempt(context, deletion);
    return mendedUnless(refusal);
  }

  private async closeCustomer(context: RpcContext, userId: string): Promise<RepairResult> {
    const attempt = await userDeletions.drawAttempt(this.database, context, identity.reconcileUsers, userId);
    const { openOrders } = await this.rpc.call(store.closeCustomer, { userId, attempt }, context);
    return mendedUnless(openOrders);
  }
}

@Controller()
export class ReconcileController {
  constructor(private readonly reconcile: ReconcileService) {}

  @Answers(identity.raiseNumbers)
  raiseNumbers(request: RaiseNumbers, context: RpcContext): Promise<{ raised: RaisedNumber[] }> {
    return this.reconcile.raiseNumbers(context, request);
  }

  @Answers(identity.reconcileUsers)
  reconcileUsers(page: ReconcileUsers, context: RpcContext): Promise<ReconciledPage<UserFinding, string>> {
    return this.reconcile.reconcile(context, page);
  }
}
