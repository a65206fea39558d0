import { Controller, Injectable } from '@nestjs/common';
import {
  type CreateDestination,
  type DeleteDestination,
  type Destination,
  type GetDestination,
  type ListDestinations,
  notifications,
  type ReplaceDestination,
  type ReplayDestination,
} from '@plant-shop/contracts/notifications';
import { findWatermark } from '@plant-shop/events/event-log';
import { lockLogForShare } from '@plant-shop/events/log-retention';
import { Cipher, type Encrypted } from '@plant-shop/platform/cipher';
import { invalidInput } from '@plant-shop/platform/errors';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import { byNumber, Paging } from '@plant-shop/platform/patterns/paging';
import { Database, readClock, type Transaction } from '@plant-shop/platform/postgres/database';
import { type Page, type Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { v7 as uuidv7 } from 'uuid';
import { noEpoch } from '../log/history.js';
import { assertMaySee } from '../log/subscription.js';
import { findReplayStart } from '../webhooks/queue/replay.js';
import { BrokerGuard } from './broker-guard.js';
import { assertMayPublish, assertMayUseDestinations, assertRoomForOneMore, assertVersion, credentialsPurpose, existingDestination, toDestination, toInput } from './destination.js';
import { beginReplay, deleteDestination, findDestination, findDestinations, insertDestination, lockAndCount, lockDestination, updateDestination } from './destinations.repository.js';

/** The operations on destinations, for administrators. */
@Injectable()
export class DestinationsService {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly guard: BrokerGuard,
  ) {}

  create(context: RpcContext, { destination }: CreateDestination): Promise<Versioned<Destination> | Replayed> {
    const { principal } = context;
    assertMayUseDestinations(principal);
    assertMayPublish(principal);
    assertMaySee(destination.eventTypes ?? [], principal);
    this.guard.assertAllowed(destination.url);
    return this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        assertRoomForOneMore(await lockAndCount(tx));
        const id = uuidv7();
        await insertDestination(tx, id, toInput(destination), this.encrypt(id, destination.credentials));
        audit(tx, actorOf(context), notifications.createDestination, id);
        return versioned(tx, id);
      }),
    );
  }

  async list({ principal }: RpcContext, request: ListDestinations): Promise<Page<Destination>> {
    assertMayUseDestinations(principal);
    const paging = new Paging('destinations', byNumber);
    const bounds = paging.bounds(request);
    return paging.page(await findDestinations(this.database, bounds), bounds, { entry: toDestination, position: ({ place }) => place });
  }

  get({ principal }: RpcContext, id: string): Promise<Versioned<Destination>> {
    assertMayUseDestinations(principal);
    return versioned(this.database, id);
  }

  replace(context: RpcContext, { destinationId, destination, ifVersion }: ReplaceDestination): Promise<Versioned<Destination>> {
    const { principal } = context;
    assertMayUseDestinations(principal);
    assertMayPublish(principal);
    assertMaySee(destination.eventTypes ?? [], principal);
    this.guard.assertAllowed(destination.url);
    return this.database.transaction(async (tx) => {
      const before = existingDestination(await lockDestination(tx, destinationId));
      assertVersion(before, ifVersion);
      const { credentials, url } = destination;
      // Nobody can have them sent elsewhere.
      const secret = credentials === undefined && url === before.url ? 'same' : this.encrypt(before.id, credentials);
      await updateDestination(tx, before, { ...toInput(destination), state: destination.state ?? before.state }, secret);
      audit(tx, actorOf(context), notifications.replaceDestination, before.id);
      return versioned(tx, before.id);
    });
  }

  delete(context: RpcContext, { destinationId, ifVersion }: DeleteDestination): Promise<{ id: string }> {
    assertMayUseDestinations(context.principal);
    return this.database.transaction(async (tx) => {
      const before = existingDestination(await lockDestination(tx, destinationId));
      assertVersion(before, ifVersion);
      await deleteDestination(tx, before.id);
      audit(tx, actorOf(context), notifications.deleteDestination, before.id);
      return { id: before.id };
    });
  }

  replay(context: RpcContext, { destinationId, replay: { since, until } }: ReplayDestination): Promise<Destination | Replayed> {
    assertMayUseDestinations(context.principal);
    assertMayPublish(context.principal);
    return this.database.transaction((tx) =>
      runOnce(tx, context.idempotency, async () => {
        if (new Date(since) > (await readClock(tx))) throw invalidInput([{ pointer: '/replay/since', detail: 'must be in the past' }]);
        const { id, seq } = existingDestination(await lockDestination(tx, destinationId));
        // Keeps retention from deleting events until the transaction ends; then the replay does.
        const oldest = await lockLogForShare(tx);
        const { seq: head, epoch } = await findWatermark(tx);
        const after = Math.max(oldest - 1, await findReplayStart(tx, { since }, epoch ?? noEpoch, { oldest, head }));
        // What was not published yet is published anyway.
        await beginReplay(tx, id, Math.min(after, seq), seq, since, until ?? new Date().toISOString());
        audit(tx, actorOf(context), notifications.replayDestination, id);
        return toDestination(existingDestination(await findDestination(tx, id)));
      }),
    );
  }

  private encrypt(id: string, credentials: object | undefined): Encrypted | undefined {
    return credentials && this.cipher.encrypt(JSON.stringify(credentials), credentialsPurpose(id));
  }
}

async function versioned(db: Pick<Database | Transaction, 'query'>, id: string): Promise<Versioned<Destination>> {
  const row = existingDestination(await findDestination(db, id));
  return new Versioned(toDestination(row), row.version);
}

@Controller()
export class DestinationsController {
  constructor(private readonly destinations: DestinationsService) {}

  @Answers(notifications.createDestination)
  createDestination(request: CreateDestination, context: RpcContext): Promise<Versioned<Destination> | Replayed> {
    return this.destinations.create(context, request);
  }

  @Answers(notifications.listDestinations)
  listDestinations(request: ListDestinations, context: RpcContext): Promise<Page<Destination>> {
    return this.destinations.list(context, request);
  }

  @Answers(notifications.getDestination)
  getDestination({ destinationId }: GetDestination, context: RpcContext): Promise<Versioned<Destination>> {
    return this.destinations.get(context, destinationId);
  }

  @Answers(notifications.replaceDestination)
  replaceDestination(request: ReplaceDestination, context: RpcContext): Promise<Versioned<Destination>> {
    return this.destinations.replace(context, request);
  }

  @Answers(notifications.deleteDestination)
  deleteDestination(request: DeleteDestination, context: RpcContext): Promise<{ id: string }> {
    return this.destinations.delete(context, request);
  }

  @Answers(notifications.replayDestination)
  replayDestination(request: ReplayDestination, context: RpcContext): Promise<Destination | Replayed> {
    return this.destinations.replay(context, request);
  }
}
