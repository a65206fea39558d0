import { Controller, Inject, Injectable } from '@nestjs/common';
import {
  type CreatedWebhook,
  type CreateWebhook,
  type DeleteWebhook,
  type GetWebhook,
  type ListWebhooks,
  type ListWebhooksOf,
  type NewWebhook,
  notifications,
  type ReplaceWebhook,
  type RotatedSecret,
  type RotateWebhookSecret,
  type Webhook,
} from '@plant-shop/contracts/notifications';
import { DomainError } from '@plant-shop/contracts/errors';
import type { PageRequest } from '@plant-shop/contracts/fields';
import { identity } from '@plant-shop/contracts/identity';
import { Cipher } from '@plant-shop/platform/cipher';
import { invalidInput } from '@plant-shop/platform/errors';
import { runOnce, IdempotentResults } from '@plant-shop/platform/patterns/idempotent-results';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { Database } from '@plant-shop/platform/postgres/database';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { v7 as uuidv7 } from 'uuid';
import { assertMaySee } from '../../log/subscription.js';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { AllOrdersEnqueuer } from '../queue/enqueuers.js';
import { DueSignal } from '../queue/due-signal.js';
import { QueueClock } from '../queue/queue-clock.js';
import { bringForward } from '../queue/queue.repository.js';
import { findBacklogs } from '../queue/pending-limits.js';
import { lookNow } from '../queue/positions.repository.js';
import { OwnerSync } from './owner-sync.js';
import { addSecret, newSecret } from './signing-secrets.js';
import { TargetGuard, TargetRefused } from './target-guard.js';
import type { WebhookEntity } from '../../database.js';
import {
  assertMayReplace,
  assertMayUseWebhooks,
  assertRoomForOneMore,
  assertVersion,
  defaultGraceSeconds,
  mayReadOthers,
  toWebhook,
  toInput,
} from './webhook.js';
import {
  lockAndCount,
  deleteWebhooks,
  findWebhook,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  retryAtOnce,
  updateWebhook,
  type WebhookFilter,
} from './webhooks.repository.js';

/** Of the parameter `owner`: all users. */
const allOwners = '*';

/** Long enough for names that exist. A name that is not resolved in time is checked when a delivery is sent. */
const lookUpLimitMs = 2_000;

@Injectable()
export class WebhooksService {
  constructor(
    private readonly database: Database,
    private readonly clock: QueueClock,
    private readonly cipher: Cipher,
    private readonly guard: TargetGuard,
    private readonly owners: OwnerSync,
    private readonly rpc: RpcClient,
    private readonly due: DueSignal,
    private readonly allOrdersEnqueuer: AllOrdersEnqueuer,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
  ) {}

  async create({ principal, idempotency }: RpcContext, webhook: NewWebhook): Promise<Versioned<CreatedWebhook> | Replayed> {
    assertMayUseWebhooks(principal);
    assertMaySee(webhook.eventTypes ?? [], principal);
    try {
      await this.assertReachable(webhook.url);
    } catch (refusal) {
      // A repeated request gets the answer of the first, even if the name leads elsewhere by now.
      const saved = await IdempotentResults.peek(this.database, idempotency);
      if (saved) return saved;
      throw refusal;
    }
    const answer = await this.database.transaction((tx) =>
      runOnce(tx, idempotency, async () => {
        assertRoomForOneMore(await lockAndCount(tx, principal.subject), this.options.webhooks.perUser);
        const id = uuidv7();
        const forAll = principal.permissions.includes('read:orders');
        const created = await insertWebhook(tx, { ...toInput(webhook), id, ownerId: principal.subject, forAll });
        const secret = newSecret();
        await addSecret(tx, id, this.cipher.encrypt(secret, id), 0);
        return new Versioned({ ...toWebhook(created), secret }, created.version);
      }),
    );
    this.owners.checkSoon(principal.subject);
    return answer;
  }

  /**
   * Returns a page, newest first; webhooks of others with their owners' present usernames.
   * @throws DomainError `forbidden`, `user-not-found`
   */
  async list(context: RpcContext, { owner, failing, ...requested }: ListWebhooks): Promise<Page<Webhook>> {
    const { principal } = context;
    assertMayUseWebhooks(principal);
    const filter = { ownerId: await this.ownerToList(context, owner), failing };
    return this.page(filter, requested, owner === undefined ? undefined : context);
  }

  /** Returns a page of a user's webhooks, newest first. */
  listOf({ userId, ...requested }: ListWebhooksOf): Promise<Page<Webhook>> {
    return this.page({ ownerId: userId }, requested);
  }

  /** @param shownTo who sees the owners' names; undefined: nobody */
  private async page(filter: WebhookFilter, requested: PageRequest, shownTo?: RpcContext): Promise<Page<Webhook>> {
    const paging = new Paging('webhooks', byNumber, [filter.ownerId ?? 'everybody', ...(filter.failing === undefined ? [] : [`failing ${filter.failing}`])]);
    const bounds = paging.bounds(requested);
    const rows = await listWebhooks(this.database, filter, bounds);
    const [backlogs, names] = await Promise.all([findBacklogs(this.database, rows.map(({ id }) => id), this.options.webhooks.pending), this.ownerNames(shownTo, rows)]);
    return paging.page(rows, bounds, { entry: (row) => toWebhook(row, backlogs.get(row.id), names.get(row.ownerId)), position: (row) => row.position });
  }

  /** Resolves the user id whose webhooks are listed; undefined: all users. */
  private async ownerToList(context: RpcContext, owner: string | undefined): Promise<string | undefined> {
    const { principal } = context;
    if (owner === undefined) return principal.subject;
    const userId = owner === allOwners ? undefined : (await this.rpc.call(identity.resolveUsername, { username: owner }, context)).userId;
    if (!mayReadOthers(principal) && userId !== principal.subject) throw new DomainError('forbidden', "Listing others' webhooks needs the permission manage:orders.");
    return userId;
  }

  /** Resolves the owners' current usernames in one call, if somebody sees them. Omits deleted users. */
  private async ownerNames(context: RpcContext | undefined, webhooks: readonly WebhookEntity[]): Promise<ReadonlyMap<string, string>> {
    const userIds = [...new Set(webhooks.map(({ ownerId }) => ownerId))];
    const users = context === undefined || userIds.length === 0 ? [] : await this.rpc.call(identity.resolveUserIds, { userIds }, context);
    return new Map(users.map(({ userId, username }) => [userId, username]));
  }

  async get(context: RpcContext, id: string): Promise<Versioned<Webhook>> {
    const { principal } = context;
    assertMayUseWebhooks(principal);
    const webhook = await findWebhook(this.database, principal, id);
    const isOwn = webhook.ownerId === principal.subject;
    const [backlogs, names] = await Promise.all([findBacklogs(this.database, [id], this.options.webhooks.pending), this.ownerNames(isOwn ? undefined : context, [webhook])]);
    return new Versioned(toWebhook(webhook, backlogs.get(id), names.get(webhook.ownerId)), webhook.version);
  }

  /**
   * Replaces a webhook. An endpoint that is enabled again first gets the held deliveries, in order per order. How the former URL
   * responded does not count against a new one.
   */
  async replace({ principal }: RpcContext, { webhookId, webhook, ifVersion }: ReplaceWebhook): Promise<Versioned<Webhook>> {
    assertMayUseWebhooks(principal);
    assertMaySee(webhook.eventTypes ?? [], principal);
    await this.assertReachable(webhook.url);
    const replaced = await this.clock.transaction(async (tx) => {
      const before = await lockWebhook(tx, principal, webhookId);
      assertMayReplace(principal, before);
      assertVersion(before, ifVersion);
      const after = await updateWebhook(tx, before, { ...toInput(webhook), state: webhook.state ?? before.state });
      if (after.state === 'enabled' && (before.state === 'disabled' || after.url !== before.url)) {
        // In the order in which enqueuers lock: cursor, deliveries, queue.
        await lookNow(tx, after.id);
        await retryAtOnce(tx, after.id);
        await bringForward(tx, [after.id]);
      }
      return versioned(after);
    });
    this.owners.checkSoon(principal.subject);
    this.due.notify();
    this.allOrdersEnqueuer.notify();
    return replaced;
  }

  delete({ principal }: RpcContext, { webhookId, ifVersion }: DeleteWebhook): Promise<{ id: string }> {
    assertMayUseWebhooks(principal);
    return this.database.transaction(async (tx) => {
      const webhook = await lockWebhook(tx, principal, webhookId);
      assertVersion(webhook, ifVersion);
      await deleteWebhooks(tx, [webhook.id]);
      return { id: webhook.id };
    });
  }

  rotateSecret(
    { principal, idempotency }: RpcContext,
    { webhookId, rotation: { graceSeconds = defaultGraceSeconds } }: RotateWebhookSecret,
  ): Promise<RotatedSecret | Replayed> {
    assertMayUseWebhooks(principal);
    return this.database.transaction((tx) =>
      runOnce(tx, idempotency, async () => {
        const { id } = await lockWebhook(tx, principal, webhookId);
        const secret = newSecret();
        const previousUntil = await addSecret(tx, id, this.cipher.encrypt(secret, id), graceSeconds);
        return { secret, previousUntil: previousUntil.toISOString() };
      }),
    );
  }

  /** Throws `invalid-input` for a URL that may not be called. Accepts names that do not resolve yet. */
  private async assertReachable(text: string): Promise<void> {
    const fault = this.guard.faultOf(text);
    if (fault !== undefined) throw invalidUrl(fault);
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, lookUpLimitMs);
    });
    try {
      await Promise.race([this.guard.addressesOf(new URL(text)), limit]);
    } catch (error) {
      if (error instanceof TargetRefused) throw invalidUrl('must not lead to an address that is not public');
    } finally {
      clearTimeout(timer);
    }
  }
}

const invalidUrl = (fault: string): Error => invalidInput([{ pointer: '/webhook/url', detail: fault }]);

const versioned = (webhook: WebhookEntity): Versioned<Webhook> => new Versioned(toWebhook(webhook), webhook.version);

@Controller()
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Answers(notifications.createWebhook)
  createWebhook({ webhook }: CreateWebhook, context: RpcContext): Promise<Versioned<CreatedWebhook> | Replayed> {
    return this.webhooks.create(context, webhook);
  }

  @Answers(notifications.listWebhooks)
  listWebhooks(request: ListWebhooks, context: RpcContext): Promise<Page<Webhook>> {
    return this.webhooks.list(context, request);
  }

  @Answers(notifications.listWebhooksOf)
  listWebhooksOf(request: ListWebhooksOf): Promise<Page<Webhook>> {
    return this.webhooks.listOf(request);
  }

  @Answers(notifications.getWebhook)
  getWebhook({ webhookId }: GetWebhook, context: RpcContext): Promise<Versioned<Webhook>> {
    return this.webhooks.get(context, webhookId);
  }

  @Answers(notifications.replaceWebhook)
  replaceWebhook(request: ReplaceWebhook, context: RpcContext): Promise<Versioned<Webhook>> {
    return this.webhooks.replace(context, request);
  }

  @Answers(notifications.deleteWebhook)
  deleteWebhook(request: DeleteWebhook, context: RpcContext): Promise<{ id: string }> {
    return this.webhooks.delete(context, request);
  }

  @Answers(notifications.rotateWebhookSecret)
  rotateWebhookSecret(request: RotateWebhookSecret, context: RpcContext): Promise<RotatedSecret | Replayed> {
    return this.webhooks.rotateSecret(context, request);
  }
}
