import { Inject, Injectable } from '@nestjs/common';
import { identity, type Revocation } from '@plant-shop/contracts/identity';
import { RevocationLog, type RevocationListener } from '@plant-shop/credentials/revocation-log';
import { CodedError } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { RpcContext } from '@plant-shop/platform/rpc/context';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { deleteWebhooksOf, findOwners, ownersAmong, updateVisibility } from './owners.repository.js';

const intervalMs = 1_000;
const budgetMs = 5_000;
const page = 500;

/**
 * Keeps endpoints in step with their owners: deletes endpoints of deleted users, and hides other users' orders from endpoints whose
 * owners may no longer see them. Follows the revocation log, and regularly checks all owners, because no replica sees entries that
 * were made while none ran.
 */
@Injectable()
export class OwnerSync extends BackgroundLoop implements RevocationListener {
  private changed = new Set<string>();
  private allCheckedAt = -Infinity;
  private readonly ownersMs: number;

  constructor(
    private readonly database: Database,
    private readonly rpc: RpcClient,
    private readonly log: RevocationLog,
    @Inject(NOTIFICATIONS_OPTIONS) { webhooks }: NotificationsOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'check owners of webhooks', intervalMs }, () => this.check(), logger);
    this.ownersMs = webhooks.ownersMs;
  }

  override onApplicationBootstrap(): void {
    this.log.listen(this);
    this.start();
  }

  revoked(entries: readonly Revocation[]): void {
    for (const { kind, id } of entries) {
      if (kind === 'user' || kind === 'userChanged') this.changed.add(id);
    }
    if (this.changed.size > 0) this.poke();
  }

  forget(): void {
    // Nothing is cached here; the next check of all owners finds what the log has lost.
  }

  private async check(): Promise<boolean> {
    const changed = this.changed;
    this.changed = new Set();
    try {
      for (const owner of changed.size === 0 ? [] : await ownersAmong(this.database, [...changed])) await this.checkOwner(owner);
    } catch (error) {
      for (const id of changed) this.changed.add(id);
      throw error;
    }
    if (performance.now() - this.allCheckedAt >= this.ownersMs) await this.checkAll();
    return false;
  }

  private async checkAll(): Promise<void> {
    const begunAt = performance.now();
    for (let owners = await findOwners(this.database, undefined, page); owners.length > 0; ) {
      for (const owner of owners) await this.checkOwner(owner);
      owners = await findOwners(this.database, owners.at(-1), page);
    }
    this.allCheckedAt = begunAt;
  }

  private async checkOwner(ownerId: string): Promise<void> {
    const permissions = await this.permissionsOf(ownerId);
    if (permissions === undefined) {
      const deleted = await this.database.transaction((tx) => deleteWebhooksOf(tx, ownerId));
      if (deleted > 0) this.logger.info({ owner: ownerId, deleted }, 'webhooks deleted with their owner');
      return;
    }
    const seesAll = permissions.includes('read:orders');
    const changed = await this.database.transaction((tx) => updateVisibility(tx, ownerId, seesAll));
    if (changed > 0) this.logger.info({ owner: ownerId, seesAll, webhooks: changed }, 'visibility of webhooks changed');
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
