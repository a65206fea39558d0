import { Controller } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import type {
  PlantFinding,
  RaisedNumber,
  RaiseNumbers,
  ReconciledPage,
  ReconcilePlants,
} from '@plant-shop/contracts/reconcile';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { ReconcileService } from './reconcile.service.js';

@Controller()
export class ReconcileController {
  constructor(private readonly reconcile: ReconcileService) {}

  @Answers(catalog.raiseNumbers)
  raiseNumbers(request: RaiseNumbers, context: RpcContext): Promise<{ raised: RaisedNumber[] }> {
    return this.reconcile.raiseNumbers(context, request);
  }

  @Answers(catalog.reconcilePlants)
  reconcilePlants(page: ReconcilePlants, context: RpcContext): Promise<ReconciledPage<PlantFinding, number>> {
    return this.reconcile.reconcile(context, page);
  }
}
