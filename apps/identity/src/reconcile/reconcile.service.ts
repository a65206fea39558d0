import { Injectable } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type {
  RaisedNumber,
  RaiseNumbers,
  ReconciledPage,
  ReconcileUsers,
  UserFinding,
} from '@plant-shop/contracts/reconcile';
import { store } from '@plant-shop/contracts/store';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { isTransient } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { raiseSequence } from '@plant-shop/platform/postgres/sequences';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { beginDeletion } from '../users/user-deletions.repository.js';
import { UserDeletionsService } from '../users/user-deletions.service.js';
import { lockUser } from '../users/users.repository.js';
import { type Drift, driftsOf, seenTwice } from './drift.js';
import { drawDeletionAttempt, findUsersToCompare } from './reconcile.repository.js';

const attemptMargin = 1_000_000;

type RepairResult = Pick<UserFinding, 'outcome' | 'openOrders'>;

/** How long to wait for a deletion that another process has started. */
const maxDeletionWaitMs = 5_000;

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
    const wanted = { sequence: 'deletion_attempts', known: closeAttempt, margin: attemptMargin };
    const raised = await this.database.transaction(async (tx) => {
      const change = await raiseSequence(tx, wanted, { dryRun });
      if (change && !dryRun) audit(tx, actorOf(context), identity.raiseNumbers, wanted.sequence);
      return change;
    });
    if (raised) this.logger.info({ raised, dryRun }, 'numbers behind the store');
    return { raised: raised ? [raised] : [] };
  }

  async reconcile(
    context: RpcContext,
    { after, limit = 500, dryRun = false }: ReconcileUsers,
  ): Promise<ReconciledPage<UserFinding, string>> {
    const page = { limit, ...(after !== undefined && { after }) };
    const first = await this.read(context, page);
    const next = first.end === undefined ? {} : { next: first.end };
    if (first.drifts.length === 0) return { checked: first.checked, ...next, findings: [] };
    // A user who is deleted between the two queries looks like drift in the first reading, but not in both.
    const second = await this.read(context, page);
    const findings: UserFinding[] = [];
    for (const drift of seenTwice(first.drifts, second.drifts)) {
      const result: RepairResult | undefined = dryRun ? { outcome: 'found' } : await this.tryToRepair(context, drift);
      if (!result) continue;
      findings.push({ ...drift, ...result });
      const { userId, drift: kind } = drift;
      this.logger.info({ userId, drift: kind, ...result }, 'drift between identity and store');
    }
    return { checked: first.checked, ...next, findings };
  }

  /** Reads customers before users: each customer was a user at that time, and still is one or was deleted since. */
  private async read(
    context: RpcContext,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<{ readonly checked: number; readonly end: string | undefined; readonly drifts: Drift[] }> {
    const customers = await this.rpc.call(store.listCustomers, page, context);
    const users = await findUsersToCompare(
      this.database,
      customers.map(({ userId }) => userId),
    );
    const end = customers.length < page.limit ? undefined : customers.at(-1)?.userId;
    return { checked: customers.length, end, drifts: driftsOf(customers, users) };
  }

  private async tryToRepair(context: RpcContext, drift: Drift): Promise<RepairResult | undefined> {
    try {
      return drift.drift === 'user-deleted'
        ? await this.deleteUserAgain(context, drift.userId)
        : await this.closeCustomer(context, drift.userId);
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.logger.warn({ err: error, userId: drift.userId }, 'drift not mended yet');
      return { outcome: 'unfinished' };
    }
  }

  /**
   * Records a deletion with an expired lease and resumes due deletions, as the background loop does.
   * @returns undefined when the user has been deleted, or another deletion has started, meanwhile
   */
  private async deleteUserAgain(context: RpcContext, userId: string): Promise<RepairResult | undefined> {
    const isRecorded = await this.database.transaction(async (tx) => {
      if (!(await lockUser(tx, userId))) return false;
      const [user] = await findUsersToCompare(tx, [userId]);
      if (user?.isBeingDeleted !== false) return false;
      await beginDeletion(tx, userId, actorOf(context), 0);
      return true;
    });
    if (!isRecorded) return undefined;
    const end = performance.now() + maxDeletionWaitMs;
    for (;;) {
      const mayHaveMore = await this.deletions.resumeOne();
      const [user] = await findUsersToCompare(this.database, [userId]);
      if (!user) return { outcome: 'mended' };
      if (mayHaveMore) continue;
      // The background loop of a replica may have leased the deletion first, and is about to finish it.
      if (!user.isBeingDeleted || performance.now() > end) return { outcome: 'unfinished' };
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  private async closeCustomer(context: RpcContext, userId: string): Promise<RepairResult> {
    const attempt = await this.database.transaction(async (tx) => {
      audit(tx, actorOf(context), identity.reconcileUsers, userId);
      return drawDeletionAttempt(tx);
    });
    const { openOrders } = await this.rpc.call(store.closeCustomer, { userId, attempt }, context);
    return openOrders.length > 0 ? { outcome: 'left', openOrders } : { outcome: 'mended' };
  }
}
