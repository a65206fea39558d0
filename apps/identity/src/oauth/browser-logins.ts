import { Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { sha256 } from '../credentials/secret.js';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { endBrowserSession, holdBrowserSession, useBrowserSession } from '../sessions/sessions.repository.js';
import type { BrowserLogin } from './provider.js';

/**
 * Logins on the OAuth pages are sessions of the user like others, and end with them. The provider has a session of its
 * own for each; it counts only while ours lives.
 */
@Injectable()
export class BrowserLogins {
  constructor(
    private readonly database: Database,
    private readonly revocations: RevocationsService,
  ) {}

  isLive({ userId, uid, openedId }: BrowserLogin): Promise<boolean> {
    return this.database.transaction((tx) => useBrowserSession(tx, { userId, oauthSession: sha256(uid), openedId }));
  }

  /**
   * Asked after a grant was kept: who ends logins ends first them and then the grants, so that either the grant is
   * found there, or the login is not found here.
   */
  isStillLive(userId: string, uid: string): Promise<boolean> {
    return this.database.transaction((tx) => holdBrowserSession(tx, userId, sha256(uid)));
  }

  async end(uid: string): Promise<void> {
    const ended = await this.database.transaction(async (tx) => {
      const id = await endBrowserSession(tx, sha256(uid));
      if (id !== undefined) await appendRevocations(tx, [{ kind: 'session', id }]);
      return id !== undefined;
    });
    if (ended) this.revocations.nudge();
  }
}
