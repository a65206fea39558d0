import { Controller } from '@nestjs/common';
import { type CompleteRefund, type GetRefund, type ListRefunds, type Refund, store } from '@plant-shop/contracts/store';
import type { Page, Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { RefundsService } from './refunds.service.js';

@Controller()
export class RefundsController {
  constructor(private readonly refunds: RefundsService) {}

  @Answers(store.listRefunds)
  listRefunds(request: ListRefunds): Promise<Page<Refund>> {
    return this.refunds.list(request);
  }

  @Answers(store.getRefund)
  getRefund({ refundId }: GetRefund): Promise<Refund> {
    return this.refunds.get(refundId);
  }

  @Answers(store.completeRefund)
  completeRefund(request: CompleteRefund, context: RpcContext): Promise<Refund | Replayed> {
    return this.refunds.complete(context, request);
  }
}
