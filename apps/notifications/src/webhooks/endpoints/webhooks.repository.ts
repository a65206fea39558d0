import { type WebhookState, webhookStates } from '@plant-shop/contracts/notifications';
import type { PageBounds } from '@plant-shop/platform/patterns/paging';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { Principal } from '@plant-shop/platform/rpc/context';
import { Equal, In, IsNull, LessThan, Not, Raw } from 'typeorm';
import { WebhookEntity } from '../../database.js';
import { queueNow } from '../queue/queue-clock.js';
import { assertIsOwner, existingWebhook, mayReadOthers, type WebhookInput } from './webhook.js';

type Endpoints = Pick<Transaction, 'repository'>;

export interface WebhookFilter {
  /** Undefined: of all users. */
  readonly ownerId: string | undefined;
  /** Whether the last attempt failed, or the shop disabled it. */
  readonly failing?: boolean | undefined;
}

const now = (): string => 'now()';
/** Excludes deleted webhooks that are not swept yet. */
const notDeleted = In<WebhookState>(webhookStates);

/** Finds a webhook that the principal may read. @throws DomainError `webhook-not-found` */
export const findWebhook = async (db: Endpoints, principal: Principal, id: string): Promise<WebhookEntity> =>
  existingWebhook(await db.repository(WebhookEntity).findOneBy({ id, ...readableBy(principal), state: notDeleted }));

/** Finds a webhook of the principal and locks it until the transaction ends. @throws DomainError `webhook-not-found`, `forbidden` */
export async function lockWebhook(tx: Transaction, principal: Principal, id: string): Promise<WebhookEntity> {
  const where = { id, ...readableBy(principal), state: notDeleted };
  const webhook = existingWebhook(await tx.repository(WebhookEntity).findOne({ where, lock: { mode: 'for_no_key_update' } }));
  assertIsOwner(principal, webhook);
  return webhook;
}

const readableBy = (principal: Principal): { ownerId?: string } => (mayReadOthers(principal) ? {} : { ownerId: principal.subject });

/** Returns webhooks, newest first, and one more than the page holds. */
export function listWebhooks(db: Endpoints, { ownerId, failing }: WebhookFilter, { after, limit }: PageBounds): Promise<WebhookEntity[]> {
  const all = { ...(ownerId !== undefined && { ownerId }), position: LessThan(after) };
  const where =
    failing === undefined ? { ...all, state: notDeleted }
    : [
        { ...all, state: Equal<WebhookState>('enabled'), id: Raw((id) => `${id} ${failing ? 'IN' : 'NOT IN'} (SELECT webhook_id FROM webhook_queues WHERE failing_since IS NOT NULL)`) },
        { ...all, state: Equal<WebhookState>('disabled'), disabledReason: failing ? Not(IsNull()) : IsNull() },
      ];
  return db.repository(WebhookEntity).find({ where, order: { position: 'DESC' }, take: limit + 1 });
}

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
