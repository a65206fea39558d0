import { operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import type { Account } from './broker.js';
import type { ErrorCode } from './errors.js';
import { Integer, Text, Uuid } from './fields.js';

// The store's feed of order events. libs/events/src/feed.ts describes the answers' members.

/** Sent by followers. */
export class ReadFeed {
  /** The follower's name. It is registered, and old events are retained until it has confirmed them. */
  @Text()
  follower: string;

  /** The last number that the follower has, 0 at the beginning. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after: number;

  /** The id of that event; absent at the beginning, and when the follower's log ends with a gap. */
  @IsOptional()
  @Uuid()
  afterId?: string;

  @Integer(1, 1_000)
  limit: number;
}

/** Sent by a follower that has another history, because one of the two databases was restored. */
export class StartEpoch {
  /** The follower's last number. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  known: number;

  /** The last number at which both have the same event. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  agreed: number;
}

/** `FeedHead` of libs/events. */
export interface FeedHead {
  readonly epoch: string;
  readonly head: number;
}

/** `FeedPage` of libs/events. */
export interface FeedPage extends FeedHead {
  readonly matches: boolean;
  readonly next: number;
  readonly nothingLost?: boolean;
  readonly epochBegins?: number;
  readonly events: readonly {
    readonly seq: number;
    readonly id: string;
    readonly subject: string;
    readonly body: string;
    readonly traceparent?: string;
  }[];
}

const { read, write } = operationsOf<ErrorCode, Account>('store');

export const feedOperations = {
  feedRead: read<FeedPage>()('feedRead', ReadFeed, { callers: ['notifications'] }),
  startEpoch: write<FeedHead>()('startEpoch', StartEpoch, { callers: ['notifications'] }),
};
