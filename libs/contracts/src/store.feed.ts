import { NoPayload, operationsOf } from '@plant-shop/platform/rpc/operation';
import { IsOptional } from 'class-validator';
import type { ErrorCode } from './errors.js';
import { Integer, Text, Uuid } from './fields.js';

// The store's feed of order events: see libs/events.

/** Published by the store (core NATS, may be lost) with what was just numbered: a `FeedNudge` of libs/events. */
export const feedSubject = 'store.feed';

/** From followers. */
export class ReadFeed {
  /** Who asks: registered, and waited for when old events are dropped. */
  @Text()
  follower: string;

  /** The last number that the follower has, 0 at the beginning. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  after: number;

  /** The id of that event; absent at the beginning, and where the follower's log ends with a gap. */
  @IsOptional()
  @Uuid()
  afterId?: string;

  @Integer(1, 1_000)
  limit: number;
}

/** A follower has another history: one of the two databases was set back. */
export class StartNewEpoch {
  /** The follower's last number. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  known: number;

  /** The last number at which both have the same event. */
  @Integer(0, Number.MAX_SAFE_INTEGER)
  agreed: number;
}

/** Where the feed stands. */
export interface FeedHead {
  /** Names one history. */
  readonly epoch: string;
  /** The last number that was given. */
  readonly head: number;
}

/** What comes after a place in it. */
export interface FeedPage extends FeedHead {
  /** The place is part of this history. */
  readonly matches: boolean;
  /** The number after the place; a higher one where what was in between was dropped or lost: a gap. */
  readonly next: number;
  readonly events: readonly {
    readonly seq: number;
    readonly id: string;
    readonly subject: string;
    readonly body: string;
    /** Of the transition, when it was traced (W3C Trace Context). */
    readonly traceparent?: string;
  }[];
}

const { read, write } = operationsOf<ErrorCode>('store');

export const feedOperations = {
  feedHead: read<FeedHead>()('feedHead', NoPayload),
  feedRead: read<FeedPage>()('feedRead', ReadFeed),
  feedGoOnBeyond: write<FeedHead>()('feedGoOnBeyond', StartNewEpoch),
};
