import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { notifications } from '@plant-shop/contracts/notifications';
import { store } from '@plant-shop/contracts/store';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { listLiveKeys, toApiKey } from '../api-keys.repository.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { listSessions, toOpenSession } from '../sessions.repository.js';
import { managedProfile, type UserRecord } from '../users/user.js';
import { listGrants } from './applications.js';

/** Orders or webhooks of one call. */
const pageSize = 200;
/** Time limit of a call, in milliseconds. */
const callMs = 4_000;
/** Time limit of a download, in milliseconds: a reader that is slower gets none. */
const downloadMs = 120_000;
/** Grants in a download: more than a user can have with ten applications. */
const maxGrants = 1_000;

/** Writes all that the shop stores about a user into one JSON document. */
@Injectable()
export class OwnData {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly rpc: RpcClient,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /**
   * Reads page by page as the reader takes it, so any number of orders needs the memory of one page.
   * @param breakOff ends the connection of a document that cannot be completed; without its end it is no valid JSON
   * @throws CodedError `unavailable`, before the document begins, if the store or notifications does not answer
   */
  async open(requestId: string, user: UserRecord, breakOff: () => void): Promise<Readable> {
    const { userId } = user;
    const [sessions, keys, grants] = await Promise.all([
      listSessions(this.database, userId, this.options.idleHours),
      listLiveKeys(this.database, userId),
      listGrants(this.database, this.cipher, userId, maxGrants),
    ]);
    const webhooks = this.pages(requestId, notifications.listWebhooksOf, userId);
    const orders = this.pages(requestId, store.listOrdersOf, userId);
    // The first pages, before anything is sent: later, no error page could be.
    const [firstWebhooks, firstOrders] = await Promise.all([webhooks.next(), orders.next()]);
    const known = {
      profile: managedProfile(user),
      // Which session asks is no fact about the user.
      sessions: sessions.map((one) => ({ ...toOpenSession(one, undefined), current: undefined })),
      apiKeys: keys.map(toApiKey),
      applications: grants.map(({ application, permissions, identity, since, until }) => ({ application, permissions, identity, since: since.toISOString(), until: until.toISOString() })),
    };
    const end = performance.now() + downloadMs;
    const logger = this.logger;
    async function* write(): AsyncGenerator<string> {
      try {
        yield `${JSON.stringify(known).slice(0, -1)},"webhooks":[`;
        yield* entries(firstWebhooks, webhooks, end);
        yield '],"orders":[';
        yield* entries(firstOrders, orders, end);
        yield ']}\n';
      } catch (error) {
        logger.warn({ err: error, requestId, userId }, 'a download of own data broke off');
        breakOff();
      }
    }
    return Readable.from(write());
  }

  private async *pages<Entry>(requestId: string, operation: Operation<{ userId: string; limit?: number; cursor?: string }, Entry[]>, userId: string): AsyncGenerator<Entry[]> {
    let cursor: string | undefined;
    do {
      const request = { userId, limit: pageSize, ...(cursor !== undefined && { cursor }) };
      const { payload, next } = await this.rpc.callRaw(operation, request, new RpcContext(requestId, Deadline.in(callMs)));
      yield JSON.parse(Buffer.from(payload).toString('utf8')) as Entry[];
      cursor = next;
    } while (cursor !== undefined);
  }
}

/** Writes the entries of all pages, separated by commas. */
async function* entries(first: IteratorResult<unknown[]>, others: AsyncGenerator<unknown[]>, end: number): AsyncGenerator<string> {
  let separator = '';
  for (let page = first; page.done !== true; page = await others.next()) {
    if (performance.now() > end) throw new Error('the reader was too slow');
    if (page.value.length > 0) yield `${separator}${page.value.map((one) => JSON.stringify(one)).join(',')}`;
    if (page.value.length > 0) separator = ',';
  }
}
