import { Controller } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import type { FeedHead, FeedPage, ReadFeed, StartNewEpoch } from '@plant-shop/contracts/store.feed';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import { OrderFeed } from './order-feed.js';

@Controller()
export class FeedController {
  constructor(private readonly orders: OrderFeed) {}

  @Answers(store.feedRead)
  feedRead({ follower, after, afterId, limit }: ReadFeed): Promise<FeedPage> {
    return this.orders.feed.readFor(follower, { seq: after, ...(afterId !== undefined && { id: afterId }) }, limit);
  }

  @Answers(store.feedGoOnBeyond)
  feedGoOnBeyond({ known, agreed }: StartNewEpoch): Promise<FeedHead> {
    return this.orders.feed.startNewEpoch(known, agreed);
  }
}
