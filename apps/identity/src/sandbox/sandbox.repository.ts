import type { Transaction } from '@plant-shop/platform/postgres/database';

/** A credential that ends earlier now, or has ended. */
interface Earlier {
  readonly kind: 'session' | 'apiKey';
  readonly id: string;
  readonly userId: string;
  readonly ended: boolean;
}

/** Lets all credentials end so much earlier. Access tokens carry their own end. */
export function expireEarlier(tx: Transaction, seconds: number): Promise<Earlier[]> {
  const by = `$1 * interval '1 second'`;
  return tx.query<Earlier>(
    `WITH session AS (UPDATE sessions SET expires_at = expires_at - ${by} WHERE expires_at > now() RETURNING id, user_id, expires_at),
          key AS (UPDATE api_keys SET expires_at = expires_at - ${by} WHERE expires_at > now() AND revoked_at IS NULL RETURNING id, user_id, expires_at),
          link AS (UPDATE one_time_links SET expires_at = expires_at - ${by} WHERE expires_at > now()),
          payload AS (UPDATE oauth_payloads SET expires_at = expires_at - ${by} WHERE expires_at > now())
     SELECT 'session' AS kind, id, user_id AS "userId", expires_at <= now() AS ended FROM session
     UNION ALL SELECT 'apiKey', id, user_id, expires_at <= now() FROM key`,
    [seconds],
  );
}
