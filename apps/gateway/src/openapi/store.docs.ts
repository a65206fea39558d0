import { store } from '@plant-shop/contracts/store';
import { storeAnswers } from '@plant-shop/contracts/store.answers';
import { type OperationDocs, forwarded } from './operation-docs.js';

export const storeDocs = {
  placeOrder: {
    tag: 'Store',
    summary: 'Place an order',
    description:
      'Reserves the units at once. An order that is not paid in time is cancelled and its units return to stock. Send an ' +
      'Idempotency-Key to repeat the request without ordering twice.',
    calls: [store.placeOrder],
    answer: forwarded(storeAnswers.placeOrder),
  },
  getOrder: {
    tag: 'Store',
    summary: 'Read an order',
    description: "Other users' orders require `read:orders`; without it, the operation answers 404.",
    calls: [store.getOrder],
    answer: forwarded(storeAnswers.getOrder),
  },
  listOrders: {
    tag: 'Store',
    summary: 'List orders',
    description: 'Newest first. Returns your own orders, or with `read:orders` those of the given `owner`, or of all users (`*`).',
    calls: [store.listOrders],
    query: ['status', 'plantId', 'owner', 'placedFrom', 'placedBefore', 'limit', 'cursor'],
    answer: forwarded(storeAnswers.listOrders),
  },
  getTimeline: {
    tag: 'Store',
    summary: 'Read the timeline of an order',
    description: 'Each step since the order was placed, with time, actor, reason and event.',
    calls: [store.getTimeline],
    answer: forwarded(storeAnswers.getTimeline),
  },
  transferOrder: {
    tag: 'Store',
    summary: 'Transfer an order to another user',
    description: 'Only placed and approved orders. Earlier events remain visible to the former owner; later ones go to the new owner.',
    calls: [store.transferOrder],
    answer: forwarded(storeAnswers.transferOrder),
  },
  reportPayment: {
    tag: 'Store',
    summary: 'Report the outcome of a payment',
    description: 'For payment providers. A payment that comes too late or twice is refused, and a refund becomes due.',
    calls: [store.reportPayment],
    answer: forwarded(storeAnswers.reportPayment),
  },
  listRefunds: {
    tag: 'Store',
    summary: 'List refunds',
    description: 'Newest first. A refund becomes due when a payment succeeds for an order that is cancelled or already paid.',
    calls: [store.listRefunds],
    query: ['status', 'limit', 'cursor'],
    answer: forwarded(storeAnswers.listRefunds),
  },
  getRefund: {
    tag: 'Store',
    summary: 'Read a refund',
    calls: [store.getRefund],
    answer: forwarded(storeAnswers.getRefund),
  },
  completeRefund: {
    tag: 'Store',
    summary: 'Complete a refund',
    description: 'Reports that the money was returned. Repeating the same reference answers the same; another reference is refused.',
    calls: [store.completeRefund],
    answer: forwarded(storeAnswers.completeRefund),
  },
  shipOrder: {
    tag: 'Store',
    summary: 'Report the shipment of an order',
    description: 'Sets or replaces carrier and tracking number of an approved order.',
    calls: [store.shipOrder],
    answer: forwarded(storeAnswers.shipOrder),
  },
  deliverOrder: {
    tag: 'Store',
    summary: 'Report the delivery of an order',
    description: 'Only approved orders. Send no body.',
    calls: [store.deliverOrder],
    answer: forwarded(storeAnswers.deliverOrder),
  },
  cancelOrder: {
    tag: 'Store',
    summary: 'Cancel an order',
    description: 'Its units return to stock at once; the order remains readable. Cancelling it again answers the same order.',
    calls: [store.cancelOrder],
    answer: forwarded(storeAnswers.cancelOrder),
  },
  readInventory: {
    tag: 'Store',
    summary: 'Read the units per status',
    description:
      'The sums over all plants. `available`: free units of plants with the status available. `pending`: units in placed orders, and ' +
      'free units of plants with the status pending. `sold`: units in approved and delivered orders, and free units of plants with the ' +
      'status sold.',
    calls: [store.readInventory],
    answer: forwarded(storeAnswers.readInventory),
  },
  getStock: {
    tag: 'Store',
    summary: 'Read the stock of a plant',
    calls: [store.getStock],
    answer: forwarded(storeAnswers.getStock),
  },
  setStock: {
    tag: 'Store',
    summary: 'Set the free units of a plant',
    description:
      'Units in orders are not affected. Send the `ETag` of the stock that you read as `If-Match`, so that orders placed in the ' +
      'meantime are not overlooked.',
    calls: [store.setStock],
    answer: forwarded(storeAnswers.setStock),
  },
} satisfies Record<string, OperationDocs>;
