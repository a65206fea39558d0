import { Controller } from '@nestjs/common';
import { type Order, type ReportPayment, store } from '@plant-shop/contracts/store';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { PaymentsService } from './payments.service.js';

@Controller()
export class PaymentsController {
  constructor(private readonly payments: PaymentsService) {}

  @Answers(store.reportPayment)
  reportPayment({ orderId, payment }: ReportPayment, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.payments.report(context, orderId, payment);
  }
}
