import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import type { Transaction } from '@plant-shop/platform/postgres/database';
import type { RpcContext } from '@plant-shop/platform/rpc/context';

/** Writes an audit entry, unless users act on their own account. */
export function auditUnlessSelf(
  tx: Transaction,
  context: RpcContext,
  operation: { readonly pattern: string },
  userId: string,
  target: string = userId,
): void {
  if (context.principal.subject !== userId) audit(tx, actorOf(context), operation, target);
}
