import { Controller } from '@nestjs/common';
import { type DeliverOrder, type Order, type ShipOrder, store } from '@plant-shop/contracts/store';
import type { Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { ShipmentsService } from './shipments.service.js';

@Controller()
export class ShipmentsController {
  constructor(private readonly shipments: ShipmentsService) {}

  @Answers(store.shipOrder)
  shipOrder(shipping: ShipOrder, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.shipments.ship(context, shipping);
  }

  @Answers(store.deliverOrder)
  deliverOrder(delivering: DeliverOrder, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.shipments.deliver(context, delivering);
  }
}
