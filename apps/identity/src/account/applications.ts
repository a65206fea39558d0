import { permissions, type Permission } from '@plant-shop/contracts/permissions';
import type { Cipher } from '@plant-shop/platform/cipher';
import type { Reader, Transaction } from '@plant-shop/platform/postgres/database';
import { deletePayloadsOfGrant } from '../grants/payloads.repository.js';
import { purposeOf } from '../oauth/adapters.js';
import { type IdentityScope, identityScopes } from '../oauth/oauth-client.js';

/** What a user has allowed an application, at one log-in. */
export interface Grant {
  readonly id: string;
  readonly application: string;
  readonly permissions: readonly Permission[];
  readonly identity: readonly IdentityScope[];
  readonly since: Date;
  readonly until: Date;
}

/** The provider's form of a grant, as far as it says what was allowed. Times are the database's, in seconds. */
interface GrantPayload {
  readonly iat: number;
  readonly openid?: { readonly scope?: string };
  readonly resources?: Readonly<Record<string, string>>;
}

/** Lists the grants of a user, newest first; at most `limit`. */
export async function listGrants(db: Reader, cipher: Cipher, userId: string, limit: number): Promise<Grant[]> {
  const rows = await db.query<{ id: string; application: string; idHash: Buffer; payload: Buffer; until: Date }>(
    `SELECT p.grant_id AS id, c.name AS application, p.id_hash AS "idHash", p.payload, p.expires_at AS until
     FROM oauth_payloads p JOIN oauth_clients c USING (client_id)
     WHERE p.model = 'Grant' AND p.user_id = $1 AND p.expires_at > now() ORDER BY p.expires_at DESC, p.id_hash LIMIT $2`,
    [userId, limit],
  );
  return rows.map(({ idHash, payload, ...row }) => {
    const { iat, openid, resources } = JSON.parse(cipher.decrypt(payload, purposeOf('Grant', idHash))) as GrantPayload;
    const scopes = [openid?.scope ?? '', ...Object.values(resources ?? {})].flatMap((scope) => scope.split(' '));
    return { ...row, permissions: permissions.filter((one) => scopes.includes(one)), identity: identityScopes.filter((one) => scopes.includes(one)), since: new Date(iat * 1_000) };
  });
}

/** Ends a grant of this user. @returns false when the user has none with this id */
export async function endGrantOf(tx: Transaction, userId: string, grantId: string): Promise<boolean> {
  const own = await tx.query(`SELECT 1 FROM oauth_payloads WHERE model = 'Grant' AND user_id = $1 AND grant_id = $2 AND client_id IS NOT NULL`, [userId, grantId]);
  return own.length > 0 && deletePayloadsOfGrant(tx, grantId);
}
