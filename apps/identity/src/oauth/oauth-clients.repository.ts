import type { Permission } from '@plant-shop/contracts/permissions';
import type { Transaction } from '@plant-shop/platform/postgres/database';

type Reader = Pick<Transaction, 'query'>;

export interface OAuthClient {
  readonly clientId: string;
  /** The user that its tokens act for. */
  readonly userId: string;
  readonly secretHash: string;
  readonly scopes: readonly Permission[];
}

export async function findClient(db: Reader, clientId: string): Promise<OAuthClient | undefined> {
  const [client] = await db.query<OAuthClient>(
    {
      name: 'find-oauth-client',
      text: `SELECT client_id AS "clientId", user_id AS "userId", secret_hash AS "secretHash", scopes
             FROM oauth_clients WHERE client_id = $1`,
    },
    [clientId],
  );
  return client;
}

/** Does nothing when there is a client of this id. */
export async function insertClient(tx: Transaction, client: OAuthClient): Promise<void> {
  await tx.execute(
    `INSERT INTO oauth_clients (client_id, user_id, secret_hash, scopes) VALUES ($1, $2, $3, $4)
     ON CONFLICT (client_id) DO NOTHING`,
    [client.clientId, client.userId, client.secretHash, client.scopes],
  );
}
