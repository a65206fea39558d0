import { readAuditOf } from './audit.js';
import { basketOperations } from './store.baskets.js';
import { feedOperations } from './store.feed.js';
import { fulfilmentOperations } from './store.fulfilment.js';
import { lifecycleOperations } from './store.lifecycles.js';
import { orderListOperations } from './store.order-lists.js';
import { orderOperations } from './store.orders.js';
import { paymentOperations } from './store.payments.js';
import { reconcileOperations } from './store.reconcile.js';
import { sandboxOperations } from './store.sandbox.js';
import { stockOperations } from './store.stock.js';
import { timelineOperations } from './store.timeline.js';

export const store = {
  ...orderOperations,
  ...orderListOperations,
  ...timelineOperations,
  ...basketOperations,
  ...paymentOperations,
  ...fulfilmentOperations,
  ...stockOperations,
  ...lifecycleOperations,
  ...feedOperations,
  ...reconcileOperations,
  ...sandboxOperations,
  readAudit: readAuditOf('store'),
};

export * from './store.baskets.js';
export * from './store.fulfilment.js';
export * from './store.lifecycles.js';
export * from './store.order-lists.js';
export * from './store.orders.js';
export * from './store.payments.js';
export * from './store.sandbox.js';
export * from './store.stock.js';
export * from './store.timeline.js';
