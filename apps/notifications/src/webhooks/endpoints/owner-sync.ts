import { Inject, Injectable } from '@nestjs/common';
import { eventTypes, isStockEvent } from '@plant-shop/contracts/events';
import { identity, type Revocation } from '@plant-shop/contracts/identity';
import { permits, readingStock } from '@plant-shop/contracts/permissions';
import { type ForgetReason, revocationKey, type RevocationListener, RevocationLog } from '@plant-shop/credentials/revocation-log';
import { CodedError } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Reader, type Transaction } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { WebhookEntity } from '../../database.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { DueSignal } from '../queue/due-signal.js';
import { deleteWebhooks } from './webhooks.repository.js';

/** A user with webhooks. */
export interface Owner {
  readonly id: string;
  /** What at least one of the webhooks sees depends on the owner's permissions: all orders, or stock. */
  readonly needsPermissions: boolean;
}

/** SQL: events of stock are among an endpoint's types. */
const hasStock = `event_types && ARRAY[${eventTypes.filter(isStockEvent).map((type) => `'${type}'`).join()}]`;

/** Returns those of these users that have webhooks. */
function ownersAmong(db: Reader, userIds: readonly string[]): Promise<Owner[]> {
  return db.query<Owner>(
    `SELECT owner_id AS id, bool_or(made_for_all OR ${hasStock}) AS "needsPermissions" FROM webhooks
     WHERE owner_id = ANY($1) AND state <> 'deleted' GROUP BY owner_id`,
    [userIds],
  );
}

/** Returns a page of owners, by ascending id. */
function findOwners(db: Reader, after: string | undefined, limit: number): Promise<Owner[]> {
  return db.query<Owner>(
    `SELECT owner_id AS id, bool_or(made_for_all OR ${hasStock}) AS "needsPermissions" FROM webhooks
     WHERE state <> 'deleted' AND ($1::uuid IS NULL OR owner_id > $1) GROUP BY owner_id ORDER BY owner_id LIMIT $2`,
    [after ?? null, limit],
  );
}

/** Sets whether the owner's webhooks of all orders see all orders, and those of stock see stock. Returns the number of webhooks that changed. */
function updateVisibility(tx: Transaction, ownerId: string, { seesAll, seesStock }: Pick<WebhookEntity, 'seesAll' | 'seesStock'>): Promise<number> {
  return tx.execute(
    `UPDATE webhooks SET sees_all = made_for_all AND $2, sees_stock = ${hasStock} AND $3
     WHERE owner_id = $1 AND state <> 'deleted' AND (sees_all, sees_stock) <> (made_for_all AND $2, ${hasStock} AND $3)`,
    [ownerId, seesAll, seesStock],
  );
}

async function deleteWebhooksOf(tx: Transaction, ownerId: string): Promise<number> {
  const rows = await tx.query<{ id: string }>(`SELECT id FROM webhooks WHERE owner_id = $1 AND state <> 'deleted'`, [ownerId]);
  return rows.length === 0 ? 0 : deleteWebhooks(tx, rows.map((row) => row.id));
}

const intervalMs = 1_000;
const budgetMs = 5_000;
const page = 500;
/** Number of owners that are checked at the same time. Claims wait for the first check of all owners. */
const atOnce = 16;
/** More failures than this in one run are not the owners' own: the run fails. */
const maxFailures = 20;
/** Owners that may be missing at once without an entry in the revocation log: as many, or as large a part, as in `npm run reconcile`. */
const fewMissing = 20;
const usualShare = 0.1;
/** How long changes of users are remembered: longer than an attempt and its claim may take. */
const rememberMs = 60_000;
/** Maximum number of missing owners that the log line names. */
const maxNamed = 1_000;

/**
 * Keeps endpoints in step with their owners: deletes endpoints of deleted users, and hides other users' orders from endpoints whose
 * owners may no longer see them. Follows the revocation log, and regularly checks all owners, because no replica sees entries that
 * were made while none ran for longer than the log is kept.
 *
 * The log names deleted users. An owner that identity does not know and the log does not name may be missing because identity runs
 * on a wrong or empty database, so the endpoints of such owners are deleted only if they are few, and missing in two checks.
 */
@Injectable()
export class OwnerSync extends BackgroundLoop implements RevocationListener {
  /** Users whose webhooks the next run checks, and those that this run checks. */
  private toCheck = new Set<string>();
  private checking: ReadonlySet<string> = new Set();
  /** When users were last to be checked, by `performance.now`. */
  private readonly changedAt = new Map<string, number>();
  private brokenAt = -Infinity;
  private allCheckedAt = -Infinity;
  private hasCheckedAll = false;
  /** Owners that were missing in the last check of all owners, if they were few. */
  private missingBefore: ReadonlySet<string> = new Set();
  private failures = 0;
  private readonly checkAllOwnersMs: number;

  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly log: RevocationLog,
    private readonly due: DueSignal,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'check owners of webhooks', intervalMs }, () => this.check(), logger);
    this.checkAllOwnersMs = webhooks.checkAllOwnersMs;
    log.addListener(this);
  }

  /**
   * Whether this process has checked all owners since it follows the present history of the revocation log. Before that, an endpoint may
   * still see other users' orders although its owner lost that permission while no replica ran. Does not include `unchecked` owners.
   */
  get isReady(): boolean {
    return this.hasCheckedAll;
  }

  /** Users whose permissions may have changed: nothing is sent to their webhooks until they are checked. */
  get unchecked(): string[] {
    return [...this.toCheck, ...this.checking];
  }

  /** Whether what was read of an owner's webhooks at that time, by `performance.now`, still shows the owner's permissions. */
  isUnchangedSince(ownerId: string, time: number): boolean {
    return this.hasCheckedAll && this.brokenAt < time && (this.changedAt.get(ownerId) ?? -Infinity) < time;
  }

  revoked(entries: readonly Revocation[]): void {
    for (const { kind, id } of entries) {
      if (kind === 'user' || kind === 'userChanged') this.checkSoon(id);
    }
  }

  /** Has all owners checked if the log may have lost entries. */
  forget(reason: ForgetReason): void {
    if (reason === 'stale') return;
    this.hasCheckedAll = false;
    this.brokenAt = performance.now();
    this.allCheckedAt = -Infinity;
    this.notify();
  }

  /**
   * Checks a user's webhooks soon. Call after the commit that created or changed one: if the user was deleted or lost permissions after the request
   * was authenticated, the entry in the revocation log was handled before there was a webhook. If this process crashes before the check,
   * the next check of all owners finds the webhook.
   */
  checkSoon(userId: string): void {
    this.toCheck.add(userId);
    this.changedAt.delete(userId);
    this.changedAt.set(userId, performance.now());
    this.notify();
  }

  private async check(): Promise<boolean> {
    this.failures = 0;
    // The map keeps insertion order.
    for (const [id, at] of this.changedAt) {
      if (performance.now() - at < rememberMs) break;
      this.changedAt.delete(id);
    }
    if (this.toCheck.size > 0) await this.checkNamed();
    if (performance.now() - this.allCheckedAt >= this.checkAllOwnersMs) await this.checkAll();
    return false;
  }

  private async checkNamed(): Promise<void> {
    const named = this.toCheck;
    this.checking = named;
    this.toCheck = new Set();
    try {
      await this.checkEach(await ownersAmong(this.database, [...named]));
    } catch (error) {
      for (const id of named) this.toCheck.add(id);
      throw error;
    } finally {
      this.checking = new Set();
    }
    this.due.notify();
  }

  private async checkAll(): Promise<void> {
    const begunAt = performance.now();
    const { generation } = this.log;
    const missing: string[] = [];
    let count = 0;
    for (let owners = await findOwners(this.database, undefined, page); owners.length > 0; ) {
      missing.push(...(await this.checkEach(owners)));
      count += owners.length;
      owners = await findOwners(this.database, owners.at(-1)?.id, page);
    }
    await this.deleteUnlessMany(missing, count);
    // After a break in between, the next run checks all of them again.
    if (this.log.generation !== generation) return;
    this.allCheckedAt = begunAt;
    if (this.hasCheckedAll) return;
    this.hasCheckedAll = true;
    this.due.notify();
  }

  /**
   * Checks owners, some at the same time. An owner whose check fails is checked again in the next run, and holds up no others.
   * @returns the ids of owners that identity does not know and the revocation log does not name
   */
  private async checkEach(owners: readonly Owner[]): Promise<string[]> {
    const missing: string[] = [];
    for (let n = 0; n < owners.length; n += atOnce) {
      await Promise.all(
        owners.slice(n, n + atOnce).map(async (owner) => {
          try {
            if (!(await this.isInStep(owner))) missing.push(owner.id);
          } catch (error) {
            // While the log cannot be followed, identity cannot be reached, and every other owner would fail as well.
            if (!this.log.isFresh || ++this.failures > maxFailures) throw error;
            this.logger.warn({ err: error, owner: owner.id }, 'an owner of webhooks could not be checked, trying again');
            this.toCheck.add(owner.id);
          }
        }),
      );
    }
    return missing;
  }

  /** Brings an owner's webhooks into step. Returns false, and changes nothing, if the owner is missing for no known reason. */
  private async isInStep({ id: ownerId, needsPermissions }: Owner): Promise<boolean> {
    const permissions = await this.permissionsOf(ownerId);
    if (permissions === undefined) {
      if (!this.log.isRevoked(revocationKey('user', ownerId))) return false;
      await this.deleteOf(ownerId);
      return true;
    }
    // A webhook created or changed since then is checked after that.
    if (!needsPermissions) return true;
    const sees = { seesAll: permissions.includes('read:orders'), seesStock: permits(readingStock, { permissions, shown: [] }) };
    const changed = await this.database.transaction((tx) => updateVisibility(tx, ownerId, sees));
    if (changed > 0) this.logger.info({ owner: ownerId, ...sees, webhooks: changed }, 'visibility of webhooks changed');
    return true;
  }

  /**
   * Deletes the webhooks of owners that were missing in this check of all owners and the one before. One check does not suffice: if
   * identity's database was replaced during it, only the owners asked about last are missing, and they may be few.
   */
  private async deleteUnlessMany(missing: readonly string[], checked: number): Promise<void> {
    const before = this.missingBefore;
    // An empty database of identity knows no owner at all, however few there are.
    const areMany = missing.length > 0 && (missing.length === checked || (missing.length > fewMissing && missing.length > checked * usualShare));
    this.missingBefore = new Set(areMany ? [] : missing);
    if (areMany) {
      this.logger.error(
        { missing: missing.length, checked, owners: missing.slice(0, maxNamed) },
        "identity does not know these owners of webhooks. Nothing was deleted, because identity's database may be empty or the wrong one: " +
          'check it, and restore it again. If the users are really gone, delete their webhooks as docs/operations/reconcile.md describes',
      );
      return;
    }
    for (const owner of missing) if (before.has(owner)) await this.deleteOf(owner);
  }

  private async deleteOf(ownerId: string): Promise<void> {
    const deleted = await this.database.transaction((tx) => deleteWebhooksOf(tx, ownerId));
    if (deleted > 0) this.logger.info({ owner: ownerId, deleted }, 'webhooks deleted with their owner');
  }

  /** Returns undefined if the user does not exist. */
  private async permissionsOf(userId: string): Promise<readonly string[] | undefined> {
    try {
      return (await this.rpc.call(identity.resolveSubject, { userId }, new RpcContext('owners', Deadline.in(budgetMs)))).permissions;
    } catch (error) {
      if (error instanceof CodedError && error.code === 'credential-refused') return undefined;
      throw error;
    }
  }
}
