import { Controller } from '@nestjs/common';
import { type CloseCustomer, type OpenOrders, store } from '@plant-shop/contracts/store';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { CustomersService } from './customers.service.js';

@Controller()
export class CustomersController {
  constructor(private readonly customers: CustomersService) {}

  @Answers(store.closeCustomer)
  closeCustomer(closing: CloseCustomer, context: RpcContext): Promise<OpenOrders> {
    return this.customers.close(context, closing);
  }
}
