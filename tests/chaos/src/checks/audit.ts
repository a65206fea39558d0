import { type Ask, type Call, type FinalOrder, type History, isDone, keyOf } from '../history.js';
import type { Violation } from './violation.js';

const made = { plant: 'catalog.createPlant', 'OAuth client': 'identity.createOAuthClient' } as const;

/** What staff did and was acknowledged is in the audit log, under one of the requests that asked for it; with a key, once. */
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
    if (count > 0 || !same.some(isDone) || !isOfStaff(first.ask, orders)) return [];
    return [{ rule: 'audit', what: `${effect} was acknowledged, and no entry ${operation} is in the audit log` }];
  });
}

/** Calls with the same text ask for one effect; undefined where none is written down. */
function effectOf(call: Call): string | undefined {
  const { ask, client, requestId } = call;
  if (operationOf(call) === undefined) return undefined;
  const key = keyOf(call);
  if (key !== undefined) return `${ask.kind} with key ${key} of ${client}`;
  switch (ask.kind) {
    case 'pay':
      return `pay ${ask.orderId} ${ask.reference} ${ask.outcome}`;
    // Done again it answers the same, and has no effect.
    case 'cancel':
      return `cancel ${ask.orderId}`;
    case 'remove':
      return `remove plant ${ask.plantId}`;
    case 'revoke':
      return `delete ${ask.target}`;
    default:
      return `${ask.kind} ${requestId}`;
  }
}

function operationOf({ ask, client }: Call): string | undefined {
  if (client !== 'staff') return undefined;
  switch (ask.kind) {
    case 'pay':
      return 'store.reportPayment';
    case 'deliver':
      return 'store.deliverOrder';
    case 'ship':
      return 'store.shipOrder';
    case 'transfer':
      return 'store.transferOrder';
    case 'cancel':
      return 'store.cancelOrder';
    case 'write':
      return 'catalog.changePlant';
    case 'remove':
      return 'catalog.deletePlant';
    case 'make':
      return ask.thing === 'plant' || ask.thing === 'OAuth client' ? made[ask.thing] : undefined;
    case 'revoke':
      return ask.how === 'user' ? 'identity.deleteUser' : undefined;
    default:
      return undefined;
  }
}

/** A cancellation is staff's when the timeline says so: of an order that was cancelled already, or is staff's own, nothing is written down. */
function isOfStaff(ask: Ask, orders: ReadonlyMap<number, FinalOrder>): boolean {
  if (ask.kind !== 'cancel') return true;
  return orders.get(ask.orderId)?.transitions.some(({ newStatus, actor }) => newStatus === 'cancelled' && actor === 'staff') ?? false;
}
