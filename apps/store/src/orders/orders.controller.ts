import { Controller } from '@nestjs/common';
import {
  type CancelOrder,
  type CountOrders,
  type GetOrder,
  type ListOrders,
  type ListOrdersOf,
  type Order,
  type OrderCounts,
  type PlaceOrder,
  store,
  type TransferOrder,
} from '@plant-shop/contracts/store';
import type { Page, Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { OrderReads } from './order-reads.service.js';
import { OrdersService } from './orders.service.js';

@Controller()
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly reads: OrderReads,
  ) {}

  @Answers(store.placeOrder)
  placeOrder({ order }: PlaceOrder, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.orders.placeOrder(context, order);
  }

  @Answers(store.getOrder)
  getOrder(request: GetOrder, context: RpcContext): Promise<Versioned<Order>> {
    return this.reads.get(context, request);
  }

  @Answers(store.listOrders)
  listOrders(request: ListOrders, context: RpcContext): Promise<Page<Order>> {
    return this.reads.list(context, request);
  }

  @Answers(store.listOrdersOf)
  listOrdersOf(request: ListOrdersOf): Promise<Page<Order>> {
    return this.reads.listOf(request);
  }

  @Answers(store.countOrders)
  countOrders(request: CountOrders, context: RpcContext): Promise<OrderCounts> {
    return this.reads.count(context, request);
  }

  @Answers(store.transferOrder)
  transferOrder(transferring: TransferOrder, context: RpcContext): Promise<Versioned<Order> | Replayed> {
    return this.orders.transfer(context, transferring);
  }

  @Answers(store.cancelOrder)
  cancelOrder({ orderId, ifVersion }: CancelOrder, context: RpcContext): Promise<Versioned<Order>> {
    return this.orders.cancel(context, orderId, ifVersion);
  }
}
