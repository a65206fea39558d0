import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { deleteOldKeys } from './api-keys.repository.js';
import { deleteExpiredChallenges, deleteExpiredRemovals } from './factors/factors.repository.js';
import { deleteExpiredPayloads } from './grants/payloads.repository.js';
import { deleteExpiredLinks } from './mail/links.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from './options.js';
import { deleteEndedSigningKeys } from './oauth/signing-keys.repository.js';
import { deleteOldRevocations, RevocationsService } from './revocations/revocations.js';
import { deleteOldFailures } from './users/login-attempts.js';
import { deleteExpiredSessions, endIdleSessions } from './sessions.repository.js';

const sweeps = [
  deleteExpiredSessions,
  deleteOldFailures,
  deleteOldRevocations,
  deleteOldKeys,
  deleteExpiredPayloads,
  deleteEndedSigningKeys,
  deleteExpiredLinks,
  deleteExpiredChallenges,
  deleteExpiredRemovals,
];

/** Deletes expired rows. Correctness does not depend on it: every query checks expiry itself. */
@Injectable()
export class Sweeper extends BackgroundLoop {
  /** Counts sessions that ended because nobody used them. */
  onIdleSession: ((id: string) => void) | undefined;

  constructor(
    private readonly database: Database,
    @Inject(RevocationsService) private readonly revocations: Pick<RevocationsService, 'publish'>,
    @Inject(IDENTITY_OPTIONS) private readonly settings: Pick<IdentityOptions, 'idleHours' | 'sessionTtlHours'>,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'sweeper', intervalMs: 60_000 }, () => this.sweep(), logger);
  }

  async sweep(): Promise<boolean> {
    const errors: unknown[] = [];
    for (const sweep of sweeps) {
      await this.database.transaction((tx) => sweep(tx)).catch((error: unknown) => errors.push(error));
    }
    await this.endIdle().catch((error: unknown) => errors.push(error));
    // A failed sweep does not stop the next ones.
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} of ${sweeps.length + 1} sweeps failed`);
    return false;
  }

  private async endIdle(): Promise<void> {
    const ended = await this.database.transaction((tx) => endIdleSessions(tx, this.settings.idleHours, this.settings.sessionTtlHours));
    if (ended.length > 0) this.revocations.publish();
    for (const id of ended) this.onIdleSession?.(id);
  }
}
