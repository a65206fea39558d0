import { type WebhookState, webhookStates } from '@plant-shop/contracts/notifications';
import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import { In, LessThan } from 'typeorm';
import { WebhookEntity } from '../../database.js';
import { queueNow } from '../queue/queue-clock.js';
import type { WebhookInput } from './webhook.js';

type Endpoints = Pick<Transaction, 'repository'>;

const now = (): string => 'now()';
/** Excludes deleted webhooks that are not swept yet. */
const notDeleted = In<WebhookState>(webhookStates);

export const findWebhook = (db: Endpoints, ownerId: string, id: string): Promise<WebhookEntity | null> =>
  db.repository(WebhookEntity).findOneBy({ id, ownerId, state: notDeleted });

/** Finds a webhook and locks it until the transaction ends. */
export const lockWebhook = (tx: Transaction, ownerId: string, id: string): Promise<WebhookEntity | null> =>
  tx.repository(WebhookEntity).findOne({ where: { id, ownerId, state: notDeleted }, lock: { mode: 'for_no_key_update' } });

/** Returns webhooks, newest first, and one more than the page holds. */
export const listWebhooksOf = (db: Endpoints, ownerId: string, { after, limit }: PageBounds): Promise<WebhookEntity[]> =>
  db.repository(WebhookEntity).find({
    where: { ownerId, state: notDeleted, position: LessThan(after) },
    order: { position: 'DESC' },
    take: limit + 1,
  });

/** Returns the number of a user's webhooks. Until the transaction ends, other callers of this wait for the same user. */
export async function lockAndCount(tx: Transaction, ownerId: string): Promise<number> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('webhooks of'), hashtext($1))`, [ownerId]);
  return tx.repository(WebhookEntity).countBy({ ownerId, state: notDeleted });
}

export async function insertWebhook(
  tx: Transaction,
  { forAll, ...webhook }: WebhookInput & { readonly id: string; readonly ownerId: string; readonly forAll: boolean },
): Promise<WebhookEntity> {
  const { id } = webhook;
  await tx.repository(WebhookEntity).insert({ ...webhook, madeForAll: forAll, seesAll: forAll });
  // An endpoint of all orders follows the log with its own cursor, from now on.
  if (forAll) tx.send('INSERT INTO webhook_cursors (webhook_id, watermark) SELECT $1, watermark FROM feed_watermark', [webhook.id]);
  await tx.execute('INSERT INTO webhook_queues (webhook_id) VALUES ($1)', [id]);
  return tx.repository(WebhookEntity).findOneByOrFail({ id });
}

/** Sets the owner's fields and the state of a locked endpoint. A change of state begins now. */
export async function updateWebhook(
  tx: Transaction,
  { id, state }: WebhookEntity,
  input: WebhookInput & Pick<WebhookEntity, 'state'>,
): Promise<WebhookEntity> {
  const webhooks = tx.repository(WebhookEntity);
  await webhooks.update(id, { ...input, ...(input.state !== state && { stateSince: now, disabledReason: null }) });
  return webhooks.findOneByOrFail({ id });
}

/** Marks webhooks as deleted, and deletes their secrets and queues; the sweeper deletes the rest. Returns their number. */
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
 * Disables an endpoint that responded 410 or has failed for too long. Returns whether it was enabled.
 * @param url the URL that responded; an endpoint that has another one by now stays enabled
 */
export async function disableWebhook(tx: Transaction, id: string, disabledReason: 'gone' | 'failing', url?: string): Promise<boolean> {
  const changes = { state: 'disabled', stateSince: now, disabledReason } as const;
  return (await tx.repository(WebhookEntity).update({ id, state: 'enabled', ...(url !== undefined && { url }) }, changes)).affected === 1;
}

/** Ends the pauses of an endpoint that was enabled again or has a new URL: makes up to 10,000 waiting retries due, and resets its health. */
export async function retryAtOnce(tx: Transaction, webhookId: string): Promise<void> {
  await tx.execute(
    `UPDATE webhook_deliveries SET due_at = ${queueNow} WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND due_at > ${queueNow} AND lease IS NULL
       ORDER BY due_at LIMIT 10000 FOR NO KEY UPDATE SKIP LOCKED)`,
    [webhookId],
  );
  await tx.execute(
    `UPDATE webhook_queues SET silent_attempts = 0, paused_until = '-infinity', failing_since = NULL, last_error = NULL WHERE webhook_id = $1`,
    [webhookId],
  );
}
