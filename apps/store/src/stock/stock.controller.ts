import { Controller } from '@nestjs/common';
import {
  type AdjustStock,
  type GetStock,
  type Inventory,
  type ListStock,
  type ListUncounted,
  type OpenOrders,
  type OpenStock,
  type OpenStocks,
  type RetirePlant,
  type SetStock,
  type Stock,
  store,
  type UncountedStock,
} from '@plant-shop/contracts/store';
import type { Page, Replayed, Versioned } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { StockService } from './stock.service.js';

@Controller()
export class StockController {
  constructor(private readonly stock: StockService) {}

  @Answers(store.readInventory)
  readInventory(): Promise<Inventory> {
    return this.stock.readInventory();
  }

  @Answers(store.getStock)
  getStock({ plantId }: GetStock): Promise<Versioned<Stock>> {
    return this.stock.get(plantId);
  }

  @Answers(store.listUncounted)
  listUncounted(request: ListUncounted): Promise<Page<UncountedStock>> {
    return this.stock.listUncounted(request);
  }

  @Answers(store.setStock)
  setStock(request: SetStock, context: RpcContext): Promise<Versioned<Stock>> {
    return this.stock.set(context, request);
  }

  @Answers(store.adjustStock)
  adjustStock(request: AdjustStock, context: RpcContext): Promise<Versioned<Stock> | Replayed> {
    return this.stock.adjust(context, request);
  }

  @Answers(store.openStock)
  openStock(opening: OpenStock): Promise<{ plantId: number }> {
    return this.stock.open(opening);
  }

  @Answers(store.openStocks)
  openStocks({ plants }: OpenStocks): Promise<{ plants: number }> {
    return this.stock.openAll(plants);
  }

  @Answers(store.listStock)
  listStock(listing: ListStock): Promise<{ plantId: number }> {
    return this.stock.list(listing);
  }

  @Answers(store.retirePlant)
  retirePlant(retiring: RetirePlant, context: RpcContext): Promise<OpenOrders> {
    return this.stock.retire(context, retiring);
  }
}
