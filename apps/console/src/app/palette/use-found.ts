import type { Shop } from '@plant-shop/client';
import { IconArrowRight, IconLeaf, IconPackage, IconUser, IconWebhook } from '@tabler/icons-react';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useMay, useShop } from '../../auth/session.js';
import type { Plant } from '../../pages/plants/plant-filter.js';
import { numberedPlants } from '../../pages/plants/plants-queries.js';
import type { User } from '../../pages/people/people-reads.js';
import type { Webhook } from '../../pages/webhooks/webhook-reads.js';
import { type Order, stateOf } from '../../shop/day.js';
import { nextCursor } from '../../ui/next-cursor.js';
import { type Go, isMeant, isSame, type Offer, type OfferGroup } from './offers.js';

/** Shown of each kind. */
const most = 5;

interface FoundRows<Row> {
  readonly rows: readonly Row[];
  readonly isMore: boolean;
}

export interface Found {
  readonly groups: readonly OfferGroup[];
  readonly isSearching: boolean;
  /** More of some kind match than are shown. */
  readonly isMore: boolean;
  /** What could not be searched. */
  readonly failed: readonly { readonly name: string; readonly error: unknown; readonly again: () => void }[];
}

/** Searches the shop for everything that the user may read. @param words none: nothing is searched */
export function useFound(words: string, { go, onPlant }: {
  readonly go: Go;
  /** Takes the plant instead of opening it; then nothing but plants is searched. */
  readonly onPlant: ((plant: Plant) => void) | undefined;
}): Found {
  const shop = useShop();
  const seesAll = useMay('read:orders');
  const seesAllWebhooks = useMay('manage:orders');
  const isWanted = words !== '' && !onPlant;
  const orders = useSearch(useMay('read:orders', 'write:orders') && isWanted, ['orders', 'found', words, seesAll], (signal) => ordersOf(shop, words, seesAll, signal));
  const plants = useSearch(useMay('write:plants', 'write:stock') && words !== '', ['plants', 'found', words], (signal) => plantsOf(shop, words, signal));
  const users = useSearch(useMay('write:users') && isWanted, ['users', 'found', words], (signal) => usersOf(shop, words, signal));
  const webhooks = useSearch(useMay('webhooks') && isWanted, ['webhooks', 'found', seesAllWebhooks], (signal) => webhooksOf(shop, seesAllWebhooks, signal));

  const all = (what: string, key: string, isMore: boolean | undefined, run: () => void): readonly Offer[] => (isMore === true && !onPlant ? [{ key, label: `All ${what} that match`, icon: IconArrowRight, run }] : []);
  const hooks = (webhooks.found?.rows ?? []).filter(({ url, name = '', description = '', owner = '' }) => isMeant(`${name} ${url} ${description} ${owner}`, words) || url.includes(words));
  const areMoreHooks = hooks.length > most || webhooks.found?.isMore === true;
  return {
    groups: [
      { name: 'Orders', offers: [...(orders.found?.rows ?? []).map((order) => offerOfOrder(order, words, go)), ...all('orders', 'all orders', orders.found?.isMore, () => go({ to: '/orders', search: { tab: 'all', q: words } }))] },
      {
        name: 'Plants',
        offers: [
          ...(plants.found?.rows ?? []).map((plant) => ({ key: `plant ${plant.id}`, label: plant.name, detail: String(plant.id), status: plant.status, isExact: isSame(words, plant.id, plant.name, plant.externalId), icon: IconLeaf, run: () => (onPlant ? onPlant(plant) : go({ to: '/plants/$plantId', params: { plantId: String(plant.id) } })) })),
          ...all('plants', 'all plants', plants.found?.isMore, () => go({ to: '/plants', search: { q: words } })),
        ],
      },
      {
        name: 'People',
        offers: [
          ...(users.found?.rows ?? []).map(({ username, firstName = '', lastName = '', email = '', role }) => ({ key: `user ${username}`, label: username, detail: [`${firstName} ${lastName}`.trim(), email, role ?? ''].filter((one) => one !== '').join(' · '), isExact: isSame(words, username, email), icon: IconUser, run: () => go({ to: '/people/$username', params: { username } }) })),
          ...all('people', 'all people', users.found?.isMore, () => go({ to: '/people', search: { q: words } })),
        ],
      },
      {
        name: 'Webhooks',
        offers: [
          ...hooks.slice(0, most).map(({ id, url, name, description, owner }) => ({ key: `webhook ${id}`, label: name ?? url, detail: [owner, name === undefined ? description : url].filter(Boolean).join(' · '), isExact: isSame(words, name, url), icon: IconWebhook, run: () => go({ to: '/webhooks/$webhookId', params: { webhookId: id } }) })),
          ...all('webhooks', 'all webhooks', areMoreHooks, () => go({ to: '/webhooks' })),
        ],
      },
    ],
    isSearching: [orders, plants, users, webhooks].some((one) => one.isSearching),
    isMore: [orders, plants, users].some((one) => one.found?.isMore === true) || areMoreHooks,
    failed: Object.entries({ Orders: orders, Plants: plants, People: users, Webhooks: webhooks }).flatMap(([name, { error, again }]) => (error === null ? [] : [{ name, error, again }])),
  };
}

interface Search<Row> {
  readonly found: FoundRows<Row> | undefined;
  readonly isSearching: boolean;
  readonly error: unknown;
  readonly again: () => void;
}

/** What another permission or other words have found counts no more. */
function useSearch<Row>(isWanted: boolean, queryKey: readonly unknown[], read: (signal: AbortSignal) => Promise<FoundRows<Row>>): Search<Row> {
  const { data, error, isFetching, refetch }: UseQueryResult<FoundRows<Row>> = useQuery({ queryKey, enabled: isWanted, queryFn: ({ signal }) => read(signal) });
  if (!isWanted) return { found: undefined, isSearching: false, error: null, again: () => undefined };
  return { found: data, isSearching: isFetching && data === undefined, error: isFetching ? null : error, again: () => void refetch() };
}

async function ordersOf(shop: Shop, q: string, seesAll: boolean, signal: AbortSignal): Promise<FoundRows<Order>> {
  const { data, response } = await shop.GET('/store/order', { params: { query: { ...(seesAll && { owner: '*' }), q, limit: most, expand: ['plant'] } }, signal });
  return { rows: data, isMore: nextCursor(response) !== undefined };
}

async function plantsOf(shop: Shop, q: string, signal: AbortSignal): Promise<FoundRows<Plant>> {
  const [{ data, response }, numbered] = await Promise.all([shop.GET('/plant/search', { params: { query: { q, limit: most } }, signal }), numberedPlants(shop, q, signal)]);
  return { rows: [...numbered, ...data.filter(({ id }) => numbered.every((one) => one.id !== id))], isMore: nextCursor(response) !== undefined };
}

async function usersOf(shop: Shop, q: string, signal: AbortSignal): Promise<FoundRows<User>> {
  const { data, response } = await shop.GET('/user', { params: { query: { search: q, limit: most } }, signal });
  return { rows: data, isMore: nextCursor(response) !== undefined };
}

/** The newest 1,000: the shop does not search them. */
async function webhooksOf(shop: Shop, seesAll: boolean, signal: AbortSignal): Promise<FoundRows<Webhook>> {
  const { data, response } = await shop.GET('/webhooks', { params: { query: { ...(seesAll && { owner: '*' }), limit: 1_000 } }, signal });
  return { rows: data, isMore: nextCursor(response) !== undefined };
}

function offerOfOrder(order: Order, words: string, go: Go): Offer {
  const { id, quantity, plant, plantId, owner, carrier, trackingNumber, externalId } = order;
  // What tells why it was found.
  const found = [[carrier, trackingNumber].filter((one) => one !== undefined).join(' '), externalId ?? ''].filter((one) => one.toLowerCase().includes(words.toLowerCase()));
  const detail = [`${quantity} × ${plant?.name ?? `plant ${plantId}`}`, owner ?? '', ...found].filter((one) => one !== '').join(' · ');
  return { key: `order ${id}`, label: `Order ${id}`, detail, status: stateOf(order), isExact: isSame(words, id, trackingNumber, externalId), icon: IconPackage, run: () => go({ to: '/orders/$orderId', params: { orderId: String(id) } }) };
}
