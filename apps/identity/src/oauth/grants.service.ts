import { Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { appendRevocations } from '../revocations/revocations.repository.js';
import { RevocationsService } from '../revocations/revocations.service.js';
import { deletePayloadsOfGrant, findOldestGrants } from './payloads.repository.js';

/** Of one user to one application, which may run on so many devices: with one more the oldest ends. */
const maxGrants = 100;

/** What users granted to applications. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly database: Database,
    private readonly revocations: RevocationsService,
  ) {}

  /** Ends codes and refresh tokens at once, and access tokens by the log. Does nothing where the grant has ended. */
  async end(grantId: string): Promise<void> {
    const ended = await this.database.transaction(async (tx) => {
      const wasThere = await deletePayloadsOfGrant(tx, grantId);
      if (wasThere) await appendRevocations(tx, [{ kind: 'grant', id: grantId }]);
      return wasThere;
    });
    if (ended) this.revocations.nudge();
  }

  /** After another grant: those of the same user to the same client that are too many. */
  async endOldest(userId: string, clientId: string): Promise<void> {
    for (const id of await findOldestGrants(this.database, userId, clientId, maxGrants)) await this.end(id);
  }

  /** Ends one access token. */
  async endAccessToken(jti: string): Promise<void> {
    await this.database.transaction((tx) => appendRevocations(tx, [{ kind: 'accessToken', id: jti }]));
    this.revocations.nudge();
  }
}
