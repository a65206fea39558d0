import { Controller } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import type {
  RaisedNumber,
  RaiseNumbers,
  ReconciledPage,
  ReconcileUsers,
  UserFinding,
} from '@plant-shop/contracts/reconcile';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { ReconcileService } from './reconcile.service.js';

@Controller()
export class ReconcileController {
  constructor(private readonly reconcile: ReconcileService) {}

  @Answers(identity.raiseNumbers)
  raiseNumbers(request: RaiseNumbers, context: RpcContext): Promise<{ raised: RaisedNumber[] }> {
    return this.reconcile.raiseNumbers(context, request);
  }

  @Answers(identity.reconcileUsers)
  reconcileUsers(page: ReconcileUsers, context: RpcContext): Promise<ReconciledPage<UserFinding, string>> {
    return this.reconcile.reconcile(context, page);
  }
}
