import { Inject, Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { sha256 } from '../secrets/secrets.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { confirmSession, endBrowserSession, findBrowserSession, lockBrowserSession, type ProvenSession, touchBrowserSession } from '../sessions.repository.js';
import { noteSessionOfGrant } from '../grants/payloads.repository.js';
import type { ProviderSessionRef } from './provider.js';

/**
 * Sessions of logins on the OAuth pages. They are ordinary sessions of the user and end with the others. The provider
 * stores its own session for each, which is valid only while ours is live.
 */
@Injectable()
export class BrowserSessions {
  constructor(
    private readonly database: Database,
    private readonly revocations: RevocationsService,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  /** Returns whether the provider's session is valid, and writes its last use. */
  async touchIfLive(session: ProviderSessionRef): Promise<boolean> {
    return (await this.findLive(session)) !== undefined;
  }

  /** Returns the id of our session for the provider's, if it is valid, and writes its last use. */
  findLive({ userId, uid, openedId }: ProviderSessionRef): Promise<string | undefined> {
    return this.database.transaction((tx) => touchBrowserSession(tx, { userId, oauthSession: sha256(uid), openedId }, this.options.idleHours));
  }

  /**
   * Notes in which session a new grant was given. Whoever ends the session ends its grants after it, so either they find the grant, or this
   * finds the session ended.
   * @returns false if the session has ended
   */
  noteGrant(userId: string, uid: string, grantId: string): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const isLive = await lockBrowserSession(tx, userId, sha256(uid));
      if (isLive) await noteSessionOfGrant(tx, grantId, sha256(uid));
      return isLive;
    });
  }

  /** Returns the live session of a login with a browser, by how its user proved who it is, and writes its last use. */
  async find(userId: string, uid: string): Promise<ProvenSession | undefined> {
    const isLive = await this.touchIfLive({ userId, uid, openedId: undefined });
    return isLive ? findBrowserSession(this.database, userId, sha256(uid)) : undefined;
  }

  /** Writes that the user has proven again who it is. */
  confirm(id: string, byFactor: boolean): Promise<void> {
    return this.database.transaction((tx) => confirmSession(tx, id, byFactor));
  }

  async end(uid: string): Promise<void> {
    const ended = await this.database.transaction(async (tx) => {
      const id = await endBrowserSession(tx, sha256(uid));
      if (id !== undefined) await appendRevocations(tx, [{ kind: 'session', id }]);
      return id !== undefined;
    });
    if (ended) this.revocations.publish();
  }
}
