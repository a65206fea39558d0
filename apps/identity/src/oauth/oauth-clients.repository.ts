import type { Permission } from '@plant-shop/contracts/permissions';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { GrantType } from '@plant-shop/contracts/identity.oauth';

type Reader = Pick<Transaction, 'query'>;

export interface OAuthClientRecord {
  readonly clientId: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly GrantType[];
  readonly scopes: readonly Permission[];
  /** The user whom tokens act for that the client gets for itself. */
  readonly ownerId: string | null;
  readonly ownerName: string | null;
  /** Null for a public client. */
  readonly secretId: string | null;
  readonly secretHash: string | null;
  readonly createdAt: Date;
}

const select = `
  SELECT c.client_id AS "clientId", c.name, c.redirect_uris AS "redirectUris", c.grant_types AS "grantTypes", c.scopes,
    c.user_id AS "ownerId", u.username AS "ownerName", c.secret_id AS "secretId", c.secret_hash AS "secretHash",
    c.created_at AS "createdAt"
  FROM oauth_clients c LEFT JOIN users u USING (user_id)`;

export async function findClient(db: Reader, clientId: string): Promise<OAuthClientRecord | undefined> {
  const [client] = await db.query<OAuthClientRecord>(
    { name: 'find-oauth-client', text: `${select} WHERE c.client_id = $1` },
    [clientId],
  );
  return client;
}

/** Newest first. */
export function listClients(db: Reader): Promise<OAuthClientRecord[]> {
  return db.query<OAuthClientRecord>(`${select} ORDER BY c.created_at DESC, c.client_id`);
}

export async function countClients(db: Reader): Promise<number> {
  const [row] = await db.query<{ count: number }>('SELECT count(*) AS count FROM oauth_clients');
  return row?.count ?? 0;
}

export type ClientToInsert = Omit<OAuthClientRecord, 'ownerName' | 'createdAt'>;

/** Does nothing when there is a client of this id. */
export async function insertClient(tx: Transaction, client: ClientToInsert): Promise<void> {
  await tx.execute(
    `INSERT INTO oauth_clients (client_id, name, redirect_uris, grant_types, scopes, user_id, secret_id, secret_hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (client_id) DO NOTHING`,
    [
      client.clientId,
      client.name,
      client.redirectUris,
      client.grantTypes,
      client.scopes,
      client.ownerId,
      client.secretId,
      client.secretHash,
    ],
  );
}

/** The client, whose secret nobody else replaces until the transaction ends. */
export async function lockClient(tx: Transaction, clientId: string): Promise<OAuthClientRecord | undefined> {
  const [client] = await tx.query<OAuthClientRecord>(`${select} WHERE c.client_id = $1 FOR NO KEY UPDATE OF c`, [
    clientId,
  ]);
  return client;
}

export async function replaceSecret(
  tx: Transaction,
  clientId: string,
  secret: { readonly secretId: string; readonly secretHash: string },
): Promise<void> {
  await tx.execute('UPDATE oauth_clients SET secret_id = $2, secret_hash = $3 WHERE client_id = $1', [
    clientId,
    secret.secretId,
    secret.secretHash,
  ]);
}

/** With the client goes all that users granted to it. @returns whether there was one */
export async function deleteClient(tx: Transaction, clientId: string): Promise<boolean> {
  return (await tx.execute('DELETE FROM oauth_clients WHERE client_id = $1', [clientId])) > 0;
}

/** @returns ids of the clients that the user owned */
export async function deleteClientsOf(tx: Transaction, userId: string): Promise<string[]> {
  const deleted = await tx.query<{ clientId: string }>(
    'DELETE FROM oauth_clients WHERE user_id = $1 RETURNING client_id AS "clientId"',
    [userId],
  );
  return deleted.map(({ clientId }) => clientId);
}
