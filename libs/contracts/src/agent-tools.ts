import { catalog } from './catalog.js';
import type { ClientOperation } from './client-operation.js';
import { notifications } from './notifications.js';
import { type PermissionPolicy, permits } from './permissions.js';
import { availabilityStates, type Availability } from './store.stock.js';
import { store } from './store.js';

// The tools that agents call by MCP. Each calls operations of the API with the caller's credential, so who may do what is declared once. The
// gateway makes their schemas from the declarations; identity says on its page for consent what they do.

/** An operation that a tool calls. The parameters of its path and the members of its body are arguments of the tool. */
interface AgentCall {
  /** The member of the tool's result that has the answer. */
  readonly as: string;
  readonly operation: ClientOperation;
  /** Parameters of the query that are arguments, too. */
  readonly takes?: readonly string[];
  /** Parameters of the query that are always sent, by what the calls before it answered. Undefined: the answer is an empty list. */
  readonly sends?: (answers: Answers) => Readonly<Record<string, string>> | undefined;
}

type Answers = Readonly<Record<string, unknown>>;

export interface AgentTool {
  readonly name: string;
  /** What it does, as people and agents read it. */
  readonly title: string;
  /** What an agent must know beside it. The operations' own descriptions speak of HTTP, and of more than the tool does. */
  readonly about: string;
  readonly calls: readonly [AgentCall, ...AgentCall[]];
  /** What a caller needs beside what the operations ask. */
  readonly needs?: PermissionPolicy;
  /** Absent: it only reads. */
  readonly changes?: 'adds' | 'replaces or removes';
  /** Leaves out of the answers what the tool is not about. */
  readonly narrow?: (answers: Answers) => Answers;
}

const page = ['limit', 'cursor'];
const emptyPage = 'A page may be short or empty although `nextCursor` leads to another one.';
const ofOrders = ['status', 'placedFrom', 'placedBefore', ...page];
const idsOf = (list: unknown): number[] => (list as readonly { readonly id: number }[]).map(({ id }) => id);

const [, lowStock, outOfStock] = availabilityStates;

/** Keeps plants of which few units or none are left. */
function lowOnly({ plants, availability }: Answers): Answers {
  const low = (availability as readonly Availability[]).filter(({ state }) => state === lowStock || state === outOfStock);
  const ids = new Set(low.map(({ plantId }) => plantId));
  return { plants: (plants as readonly { readonly id: number }[]).filter(({ id }) => ids.has(id)), availability: low };
}

/** Those that read, then those that change something. */
export const agentTools: readonly AgentTool[] = [
  {
    name: 'find_plants',
    title: 'Find plants',
    about: `Plants that meet all conditions. ${emptyPage}`,
    calls: [{ as: 'plants', operation: catalog.searchPlants.client, takes: ['q', 'status', 'tags', 'category', 'sort', ...page] }],
  },
  {
    name: 'check_availability',
    title: 'See whether plants can be ordered',
    about: 'In the order of the ids, without those that do not exist.',
    calls: [{ as: 'availability', operation: store.listAvailability.client, takes: ['ids'] }],
  },
  {
    name: 'list_my_orders',
    title: 'See your own orders',
    about: `Newest first. ${emptyPage}`,
    calls: [{ as: 'orders', operation: store.listOrders.client, takes: ofOrders, sends: () => ({ expand: 'plant' }) }],
  },
  {
    name: 'list_orders_to_ship',
    title: 'See the orders of all customers that wait for their shipment, the oldest first',
    about: `Approved orders that are not shipped. ${emptyPage}`,
    needs: { anyOf: ['read:orders'] },
    calls: [
      {
        as: 'orders',
        operation: store.listOrders.client,
        takes: ['plantId', 'placedFrom', 'placedBefore', ...page],
        sends: () => ({ owner: '*', status: 'approved', shipped: 'false', sort: 'placedAt', expand: 'plant' }),
      },
    ],
  },
  {
    name: 'get_order',
    title: 'See an order and what happened to it',
    about: 'The timeline begins with the oldest step.',
    calls: [
      { as: 'order', operation: store.getOrder.client, sends: () => ({ expand: 'plant' }) },
      { as: 'timeline', operation: store.getTimeline.client, takes: page },
    ],
  },
  {
    name: 'list_refunds_due',
    title: 'See refunds that are due',
    about: 'The latest to become due comes first. A refund becomes due when a payment succeeds for an order that is cancelled or already paid.',
    calls: [{ as: 'refunds', operation: store.listRefunds.client, takes: page, sends: () => ({ status: 'due' }) }],
  },
  {
    name: 'find_low_stock',
    title: 'Find plants of which few units are left',
    about: `Looks at 100 available plants, from the newest. ${emptyPage}`,
    calls: [
      { as: 'plants', operation: catalog.findPlantsByStatus.client, takes: ['cursor'], sends: () => ({ status: 'available', limit: '100' }) },
      { as: 'availability', operation: store.listAvailability.client, sends: ({ plants }) => (idsOf(plants).length > 0 ? { ids: idsOf(plants).join() } : undefined) },
    ],
    narrow: lowOnly,
  },
  {
    name: 'list_webhooks',
    title: 'See your webhooks',
    about: 'Newest first.',
    calls: [{ as: 'webhooks', operation: notifications.listWebhooks.client, takes: page }],
  },
  {
    name: 'explain_webhook_failures',
    title: 'See why a webhook fails',
    about: 'A webhook of list_webhooks, its newest deliveries that are tried again (`pending`), and those given up (`failed`), with all attempts.',
    calls: [
      { as: 'webhook', operation: notifications.getWebhook.client },
      { as: 'pending', operation: notifications.listDeliveries.client, sends: () => ({ state: 'pending', limit: '10' }) },
      { as: 'failed', operation: notifications.listDeliveries.client, takes: page, sends: () => ({ state: 'failed' }) },
    ],
  },
  {
    name: 'read_inventory',
    title: 'See how many units there are',
    about: 'Sums over all plants. `available`: can be ordered. `pending`: ordered and not paid, or of pending plants. `sold`: paid, or of sold plants.',
    calls: [{ as: 'inventory', operation: store.readInventory.client }],
  },
  {
    name: 'list_plant_changes',
    title: 'See how the catalogue has changed',
    about: 'Each plant that changed after `cursor` once, as it is now, or as `deleted`. Keep `nextCursor` to ask later what changed since. If it is too old, begin without one.',
    calls: [{ as: 'page', operation: catalog.listPlantChanges.client, takes: page }],
  },
  {
    name: 'place_basket',
    title: 'Order plants for you',
    about: 'Places an order for each line, or none: a refusal names all `lines` that caused it. Units are reserved at once, until the orders expire unpaid.',
    changes: 'adds',
    calls: [{ as: 'basket', operation: store.placeBasket.client }],
  },
  {
    name: 'cancel_order',
    title: 'Cancel orders',
    about: 'Cancels one that is not paid: its units return to stock at once. Cancelling it again changes nothing.',
    changes: 'replaces or removes',
    calls: [{ as: 'order', operation: store.cancelOrder.client }],
  },
  {
    name: 'ship_order',
    title: 'Report shipments',
    about: 'Sets or replaces carrier and tracking number of an approved order.',
    changes: 'replaces or removes',
    calls: [{ as: 'order', operation: store.shipOrder.client }],
  },
  {
    name: 'adjust_stock',
    title: 'Add and remove units of plants',
    about: 'For a delivery, a loss or a count. Refused if less than no free unit would be left.',
    changes: 'replaces or removes',
    calls: [{ as: 'stock', operation: store.adjustStock.client }],
  },
];

/** Returns the tools that exist for a caller: those whose operations the caller may call. */
export const toolsFor = (principal: Parameters<typeof permits>[1]): readonly AgentTool[] =>
  agentTools.filter(
    ({ calls, needs }) =>
      (!needs || permits(needs, principal)) && calls.every(({ operation: { access } }) => access.kind !== 'permission' || permits(access, principal)),
  );
