import { store } from '@plant-shop/contracts/store';
import { storeAnswers } from '@plant-shop/contracts/store.answers';
import { type OperationDocs, forwarded } from './operation-docs.js';

export const storeDocs = {
  placeOrder: {
    tag: 'Store',
    summary: 'Place an order',
    description:
      'Reserves the units at once; an order that is not paid within its time is cancelled and gives them back. Send an ' +
      'Idempotency-Key to be able to repeat it without ordering twice.',
    calls: [store.placeOrder],
    answer: forwarded(storeAnswers.placeOrder),
  },
  getOrder: {
    tag: 'Store',
    summary: 'Read an order',
    description: "Others' orders are seen with `read:orders`; without it they do not exist.",
    calls: [store.getOrder],
    answer: forwarded(storeAnswers.getOrder),
  },
  listOrders: {
    tag: 'Store',
    summary: 'List orders',
    description: "Newest first: one's own, or with `read:orders` those of another `owner`, or of everybody (`*`).",
    calls: [store.listOrders],
    query: ['status', 'plantId', 'owner', 'placedFrom', 'placedBefore', 'limit', 'cursor'],
    answer: forwarded(storeAnswers.listOrders),
  },
  getTimeline: {
    tag: 'Store',
    summary: 'Read what happened to an order',
    description: 'Each step with its time, actor, reason and event, from placing on.',
    calls: [store.getTimeline],
    answer: forwarded(storeAnswers.getTimeline),
  },
  transferOrder: {
    tag: 'Store',
    summary: 'Hand an open order to another user',
    description: 'Placed or approved ones. Earlier events stay with the former owner, later ones are for the new one.',
    calls: [store.transferOrder],
    answer: forwarded(storeAnswers.transferOrder),
  },
  reportPayment: {
    tag: 'Store',
    summary: 'Report the outcome of a payment',
    description: 'For payment providers. A payment that comes too late or twice is refused, and makes a refund that is due.',
    calls: [store.reportPayment],
    answer: forwarded(storeAnswers.reportPayment),
  },
  listRefunds: {
    tag: 'Store',
    summary: 'List refunds',
    description: 'Newest first. A payment that succeeds on an order that is cancelled or paid already makes one.',
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
    summary: 'Report that the money was given back',
    description: 'The same reference again answers the same; another one is refused.',
    calls: [store.completeRefund],
    answer: forwarded(storeAnswers.completeRefund),
  },
  shipOrder: {
    tag: 'Store',
    summary: 'Say how an order travels',
    description: 'Replaces carrier and tracking number of an approved order.',
    calls: [store.shipOrder],
    answer: forwarded(storeAnswers.shipOrder),
  },
  deliverOrder: {
    tag: 'Store',
    summary: 'Report that an order was delivered',
    description: 'An approved one. It has no body.',
    calls: [store.deliverOrder],
    answer: forwarded(storeAnswers.deliverOrder),
  },
  cancelOrder: {
    tag: 'Store',
    summary: 'Cancel an order',
    description: 'Its units can be ordered again at once; the order stays readable. Cancelling again answers the same order.',
    calls: [store.cancelOrder],
    answer: forwarded(storeAnswers.cancelOrder),
  },
  readInventory: {
    tag: 'Store',
    summary: 'Read the units per status',
    description:
      'Over all plants. `available`: free units of plants that are listed available. `pending`: units in placed orders, and free ' +
      'units of plants listed pending. `sold`: units in approved and delivered orders, and free units of plants listed sold.',
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
    description: 'Units in orders stay as they are. Send the `ETag` of what was read as `If-Match`, so that no order placed meanwhile is overlooked.',
    calls: [store.setStock],
    answer: forwarded(storeAnswers.setStock),
  },
} satisfies Record<string, OperationDocs>;
