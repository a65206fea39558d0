import { Injectable } from '@nestjs/common';
import type { Revocation } from '@plant-shop/contracts/identity';
import { type Authentication, CredentialRefused } from '@plant-shop/credentials/authentication';
import { CredentialChecker } from '@plant-shop/credentials/credential-checker';
import { type ForgetReason, revocationKey, RevocationLog } from '@plant-shop/credentials/revocation-log';
import type { PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import { CodedError, overloaded } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Semaphore } from '@plant-shop/platform/patterns/semaphore';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { assertMayFollow, type EventTypes } from '../../log/subscription.js';
import type { Connection } from '../connection.js';

/** What happens to connections whose credentials change. */
export interface CredentialChangeHandler {
  /** Its credentials are being checked: sends nothing until `release` or `close`. */
  hold(connection: Connection): void;
  /** Continues with the connection's present authentication. */
  release(connection: Connection): void;
  close(connection: Connection, code: 4001 | 4003): void;
}

const attempts = 5;
const checksAtOnce = 32;
const retryMs = 250;

/**
 * Indexes connections by what can revoke their credentials, and follows the revocation log. A revocation closes connections; a
 * changed user, or a break in the log, holds them until their credentials were checked again.
 */
@Injectable()
export class CredentialWatch {
  private readonly byKey = new Map<string, Set<Connection>>();
  private readonly checks = new Semaphore(checksAtOnce);
  private handler: CredentialChangeHandler | undefined;

  constructor(
    private readonly credentials: CredentialChecker,
    private readonly log: RevocationLog,
    @InjectLogger() private readonly logger: Logger,
  ) {
    log.addListener({ revoked: (entries) => this.revoked(entries), forget: (reason) => this.forget(reason) });
  }

  /** Replaces what to do with connections whose credentials change. */
  onChange(handler: CredentialChangeHandler): void {
    this.handler = handler;
  }

  /**
   * Checks credentials, and that they may follow these types of event, and calls `take` with the result. No revocation can be missed in between: `take` runs in the turn of the
   * event loop in which the check is known to be current, so what it registers is found by the next entry of the log.
   * @throws CredentialRefused; CodedError `forbidden`, `unavailable`, `overloaded`
   */
  async check<T>(presented: PresentedCredentials, { types }: EventTypes, requestId: string, take: (authentication: Authentication) => T): Promise<T> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { position, generation } = this.log;
      const authentication = await this.credentials.check(presented, requestId);
      // The answer may be older than an entry that arrived during the check and will not be repeated.
      if (this.log.position !== position || this.log.generation !== generation) continue;
      assertMayFollow(types, authentication.principal);
      return take(authentication);
    }
    throw overloaded('The check of credentials');
  }

  add(connection: Connection): void {
    for (const key of connection.authentication.revokedBy) {
      const others = this.byKey.get(key);
      if (others) others.add(connection);
      else this.byKey.set(key, new Set([connection]));
    }
  }

  delete(connection: Connection): void {
    for (const key of connection.authentication.revokedBy) {
      const others = this.byKey.get(key);
      if (others?.delete(connection) && others.size === 0) this.byKey.delete(key);
    }
  }

  private revoked(entries: readonly Revocation[]): void {
    for (const { kind, id } of entries) {
      if (kind === 'userChanged') {
        for (const connection of this.connectionsWith(revocationKey('user', id))) this.checkAgain(connection);
      } else {
        for (const connection of this.connectionsWith(revocationKey(kind, id))) this.handler?.close(connection, 4001);
      }
    }
  }

  /** After a break in the log entries may be missing, so every connection is checked again. A stale log has delivered all of them. */
  private forget(reason: ForgetReason): void {
    if (reason === 'stale') return;
    const all = new Set([...this.byKey.values()].flatMap((connections) => [...connections]));
    for (const connection of all) this.checkAgain(connection);
  }

  private connectionsWith(key: string): Connection[] {
    return [...(this.byKey.get(key) ?? [])];
  }

  private checkAgain(connection: Connection): void {
    this.handler?.hold(connection);
    // A check in progress repeats itself, because the log has grown.
    if (connection.isRechecking) return;
    connection.isRechecking = true;
    void this.checks.run(() => this.recheckUntilDecided(connection));
  }

  private async recheckUntilDecided(connection: Connection): Promise<void> {
    while (connection.state !== 'closed') {
      try {
        await this.check(connection.credentials, connection.filter.types, 'recheck', (authentication) => {
          if (connection.state === 'closed') return;
          this.delete(connection);
          connection.renew(authentication);
          this.add(connection);
          connection.isRechecking = false;
          this.handler?.release(connection);
        });
        return;
      } catch (error) {
        if (error instanceof CredentialRefused || isCode(error, 'credential-refused')) {
          this.handler?.close(connection, 4001);
        } else if (isCode(error, 'forbidden')) {
          this.handler?.close(connection, 4003);
        } else {
          this.logger.debug({ err: error }, 'credentials of a connection cannot be checked now, trying again');
          await new Promise((resolve) => setTimeout(resolve, retryMs));
        }
      }
    }
  }
}

const isCode = (error: unknown, code: string): boolean => error instanceof CodedError && error.code === code;
