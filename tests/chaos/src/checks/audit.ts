import { type ShopRequest, type Call, type FinalOrder, type History, isDone, keyOf } from '../history.js';
import type { Violation } from './violation.js';

const createOperations = { plant: 'catalog.createPlant', 'OAuth client': 'identity.createOAuthClient' } as const;

/** Every acknowledged action of staff is in the audit log under the id of one of its requests; with a key, exactly once. */
export function checkAudit({ calls, final }: History): Violation[] {
  const entries = new Map<string, number>();
  for (const { operation, requestId } of final.audit) entries.set(`${operation} ${requestId}`, (entries.get(`${operation} ${requestId}`) ?? 0) + 1);
  const orders = new Map(final.orders.map((order) => [order.id, order]));
  const byEffect = Map.groupBy(calls, (call) => effectOf(call));
  return [...byEffect].flatMap(([effect, same]): Violation[] => {
    const [first] = same;
    const operation = first && operationOf(first);
    if (!first || effect === undefined || operation === undefined) return [];
    const count = same.reduce((sum, { requestId }) => sum + (entries.get(`${operation} ${requestId}`) ?? 0), 0);
    if (keyOf(first) !== undefined && count > 1) return [{ rule: 'once-per-key', what: `${effect} is in the audit log ${count} times` }];
    if (count > 0 || !same.some(isDone) || !isOfStaff(first.request, orders)) return [];
    return [{ rule: 'audit', what: `${effect} was acknowledged, but the audit log has no entry ${operation}` }];
  });
}

/** Identifies the effect that a call requests: calls with equal texts request the same one. Undefined if it is not audited. */
function effectOf(call: Call): string | undefined {
  const { request, client, requestId } = call;
  if (operationOf(call) === undefined) return undefined;
  const key = keyOf(call);
  if (key !== undefined) return `${request.kind} with key ${key} of ${client}`;
  switch (request.kind) {
    case 'pay':
      return `pay ${request.orderId} ${request.reference} ${request.outcome}`;
    // Repeating it returns the same answer and has no further effect.
    case 'cancel':
      return `cancel ${request.orderId}`;
    case 'delete-plant':
      return `remove plant ${request.plantId}`;
    case 'revoke':
      return `delete ${request.target}`;
    default:
      return `${request.kind} ${requestId}`;
  }
}

function operationOf({ request, client }: Call): string | undefined {
  if (client !== 'staff') return undefined;
  switch (request.kind) {
    case 'pay':
      return request.basket ? 'store.reportBasketPayment' : 'store.reportPayment';
    case 'deliver':
      return 'store.deliverOrder';
    case 'ship':
      return 'store.shipOrder';
    case 'transfer':
      return 'store.transferOrder';
    case 'cancel':
      return request.basket ? 'store.cancelBasket' : 'store.cancelOrder';
    case 'write-name':
      return 'catalog.changePlant';
    case 'delete-plant':
      return 'catalog.deletePlant';
    case 'create':
      return request.resource === 'plant' || request.resource === 'OAuth client' ? createOperations[request.resource] : undefined;
    case 'revoke':
      return request.how === 'user' ? 'identity.deleteUser' : undefined;
    default:
      return undefined;
  }
}

/**
 * Whether staff caused the effect. A cancellation is audited only if the timeline names staff: not if the order was cancelled already
 * or is staff's own.
 */
function isOfStaff(request: ShopRequest, orders: ReadonlyMap<number, FinalOrder>): boolean {
  if (request.kind !== 'cancel') return true;
  return orders.get(request.orderId)?.transitions.some(({ newStatus, actor }) => newStatus === 'cancelled' && actor === 'staff') ?? false;
}
