import type { PageBounds } from '@plant-shop/platform/paging';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { onlyRow } from '@plant-shop/platform/postgres/rows';
import type { Sealed } from './secret-box.js';
import type { WebhookRecord, WebhookWishes } from './webhook.js';

type Reader = Pick<Transaction, 'query'>;

const columns = `id, position, owner_id AS "ownerId", url, event_types AS "eventTypes", order_id AS "orderId",
  plant_id AS "plantId", description, state, disabled_reason AS "disabledReason", version, created_at AS "createdAt"`;

export async function findWebhook(db: Reader, ownerId: string, id: string): Promise<WebhookRecord | undefined> {
  const [webhook] = await db.query<WebhookRecord>(
    `SELECT ${columns} FROM webhooks WHERE id = $1 AND owner_id = $2 AND state <> 'deleted'`,
    [id, ownerId],
  );
  return webhook;
}

/** Nobody changes it until the transaction ends. */
export async function lockWebhook(tx: Transaction, ownerId: string, id: string): Promise<WebhookRecord | undefined> {
  const [webhook] = await tx.query<WebhookRecord>(
    `SELECT ${columns} FROM webhooks WHERE id = $1 AND owner_id = $2 AND state <> 'deleted' FOR NO KEY UPDATE`,
    [id, ownerId],
  );
  return webhook;
}

/** Newest first, one more than the page holds. */
export function listWebhooksOf(db: Reader, ownerId: string, { before, limit }: PageBounds): Promise<WebhookRecord[]> {
  return db.query<WebhookRecord>(
    `SELECT ${columns} FROM webhooks WHERE owner_id = $1 AND state <> 'deleted' AND position < $2
     ORDER BY position DESC LIMIT $3`,
    [ownerId, before, limit + 1],
  );
}

/** How many a user has; nobody adds one for that user until the transaction ends. */
export async function countAlone(tx: Transaction, ownerId: string): Promise<number> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('webhooks of'), hashtext($1))`, [ownerId]);
  const text = `SELECT count(*) AS count FROM webhooks WHERE owner_id = $1 AND state <> 'deleted'`;
  return onlyRow(await tx.query<{ count: number }>(text, [ownerId])).count;
}

export async function insertWebhook(
  tx: Transaction,
  webhook: WebhookWishes & { readonly id: string; readonly ownerId: string; readonly forAll: boolean },
): Promise<WebhookRecord> {
  const { id, ownerId, url, eventTypes, orderId, plantId, description, forAll } = webhook;
  const inserted = await tx.query<WebhookRecord>(
    `INSERT INTO webhooks (id, owner_id, url, event_types, order_id, plant_id, description, made_for_all, sees_all)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) RETURNING ${columns}`,
    [id, ownerId, url, eventTypes, orderId, plantId, description, forAll],
  );
  await tx.execute('INSERT INTO webhook_queues (webhook_id) VALUES ($1)', [id]);
  return onlyRow(inserted);
}

/** Everything that its owner decides. Leaving or entering a state begins that state anew. */
export async function updateWebhook(
  tx: Transaction,
  { id, state, ...wishes }: WebhookWishes & Pick<WebhookRecord, 'id' | 'state'>,
): Promise<WebhookRecord> {
  return onlyRow(
    await tx.query<WebhookRecord>(
      `UPDATE webhooks SET url = $2, event_types = $3, order_id = $4, plant_id = $5, description = $6, state = $7,
         state_since = CASE WHEN state = $7 THEN state_since ELSE now() END,
         disabled_reason = CASE WHEN state = $7 THEN disabled_reason END, version = version + 1
       WHERE id = $1 RETURNING ${columns}`,
      [id, wishes.url, wishes.eventTypes, wishes.orderId, wishes.plantId, wishes.description, state],
    ),
  );
}

/** Hides them and forgets their secrets; the sweeper removes the rest. @returns how many there were */
export async function deleteWebhooks(tx: Transaction, ids: readonly string[]): Promise<number> {
  const deleted = await tx.execute(
    `UPDATE webhooks SET state = 'deleted', state_since = now(), version = version + 1
     WHERE id = ANY($1) AND state <> 'deleted'`,
    [ids],
  );
  await tx.execute('DELETE FROM webhook_secrets WHERE webhook_id = ANY($1)', [ids]);
  await tx.execute('DELETE FROM webhook_queues WHERE webhook_id = ANY($1)', [ids]);
  return deleted;
}

/**
 * Disables an endpoint that answered 410, or that has failed for so long.
 * @returns whether it was enabled until now
 */
export async function disableWebhook(
  tx: Transaction,
  id: string,
  reason: 'gone' | 'failing',
): Promise<boolean> {
  const disabled = await tx.execute(
    `UPDATE webhooks SET state = 'disabled', state_since = now(), disabled_reason = $2, version = version + 1
     WHERE id = $1 AND state = 'enabled'`,
    [id, reason],
  );
  return disabled === 1;
}

/** The newest signs from now on, and the one before it for as long as is said; older ones end at once. */
export async function addSecret(tx: Transaction, webhookId: string, secret: Sealed, graceSeconds: number): Promise<Date> {
  await tx.execute(`DELETE FROM webhook_secrets WHERE webhook_id = $1 AND ends_at <> 'infinity'`, [webhookId]);
  await tx.execute(`UPDATE webhook_secrets SET ends_at = now() + $2 * interval '1 second' WHERE webhook_id = $1`, [
    webhookId,
    graceSeconds,
  ]);
  const { previousUntil } = onlyRow(
    await tx.query<{ previousUntil: Date }>(
      `INSERT INTO webhook_secrets (webhook_id, key_id, encrypted) VALUES ($1, $2, $3)
       RETURNING now() + $4 * interval '1 second' AS "previousUntil"`,
      [webhookId, secret.keyId, secret.encrypted, graceSeconds],
    ),
  );
  return previousUntil;
}

export interface SecretRecord extends Sealed {
  readonly id: number;
  readonly webhookId: string;
}

/** Those that sign now, newest first. */
export function findSecrets(db: Reader, webhookIds: readonly string[]): Promise<SecretRecord[]> {
  return db.query<SecretRecord>(
    {
      name: 'find-webhook-secrets',
      text: `SELECT id, webhook_id AS "webhookId", key_id AS "keyId", encrypted FROM webhook_secrets
             WHERE webhook_id = ANY($1) AND ends_at > now() ORDER BY id DESC`,
    },
    [webhookIds],
  );
}

/** Of an endpoint that was enabled again: what failed before is not kept waiting, but for what is beyond 10,000 of them. */
export async function retryAtOnce(tx: Transaction, webhookId: string): Promise<void> {
  await tx.execute(
    `UPDATE webhook_deliveries SET due_at = now() WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND due_at > now() AND lease IS NULL
       ORDER BY due_at LIMIT 10000 FOR NO KEY UPDATE SKIP LOCKED)`,
    [webhookId],
  );
  await tx.execute(
    `UPDATE webhook_queues SET silent_attempts = 0, paused_until = '-infinity', failing_since = NULL WHERE webhook_id = $1`,
    [webhookId],
  );
}
