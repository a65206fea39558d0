import { Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { appendRevocations } from '../revocations/revocations.js';
import { RevocationsService } from '../revocations/revocations.js';
import { deletePayloadsOfGrant, findOldestGrants } from './payloads.repository.js';

/** Maximum grants of one user to one application, enough for as many devices. Another grant ends the oldest. */
const maxGrants = 100;

/** Ends grants of users to applications, and their tokens. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly database: Database,
    private readonly revocations: RevocationsService,
  ) {}

  /** Deletes the grant's codes and refresh tokens, and ends its access tokens by the log. Has no effect on an ended grant. */
  async end(grantId: string): Promise<void> {
    const ended = await this.database.transaction(async (tx) => {
      const wasThere = await deletePayloadsOfGrant(tx, grantId);
      if (wasThere) await appendRevocations(tx, [{ kind: 'grant', id: grantId }]);
      return wasThere;
    });
    if (ended) this.revocations.publish();
  }

  /** Ends the oldest grants of the user to the client beyond the limit. Call it after a new grant. */
  async endOldest(userId: string, clientId: string): Promise<void> {
    for (const id of await findOldestGrants(this.database, userId, clientId, maxGrants)) await this.end(id);
  }

  async endAccessToken(jti: string): Promise<void> {
    await this.database.transaction((tx) => appendRevocations(tx, [{ kind: 'accessToken', id: jti }]));
    this.revocations.publish();
  }
}
