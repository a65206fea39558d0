import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refusal, send } from './http.mjs';
import { Site } from './site.mjs';

const VERSION = '3.7.3';
const child = fileURLToPath(new URL('vendure.child.mjs', import.meta.url));

/** One request with the five mutations of a checkout, each with the least answer. */
const checkout = `mutation ($plant: ID!) {
  addItemToOrder(productVariantId: $plant, quantity: 1) { __typename ... on ErrorResult { errorCode } }
  setOrderShippingAddress(input: { fullName: "Ada", streetLine1: "1 Fern Street", city: "Berlin", postalCode: "10115", countryCode: "DE" }) { __typename }
  setOrderShippingMethod(shippingMethodId: ["1"]) { __typename }
  transitionOrderToState(state: "ArrangingPayment") { __typename ... on OrderStateTransitionError { errorCode transitionError } }
  addPaymentToOrder(input: { method: "dummy", metadata: {} }) { __typename ... on Order { state } ... on ErrorResult { errorCode } }
}`;
/** For a customer who was refused or got no answer: a unit that stayed in the basket would be ordered beside the next one. */
const emptied = 'mutation { transitionOrderToState(state: "AddingItems") { __typename } removeAllOrderLines { __typename } }';
const login = 'mutation ($user: String!) { login(username: $user, password: "a long enough password") { __typename } }';

/** @param {string} folder @param {import('./shops.mjs').Seed & import('./site.mjs').Need} options @returns {Promise<import('./shops.mjs').Shop>} */
export async function vendure(folder, { plants, scarce, units, customers, ...need }) {
  const packages = { '@vendure/core': VERSION, ioredis: '5.9.3', pg: '8.16.3' };
  const site = await Site.open(folder, { name: `vendure-${VERSION}`, packages, ...need });
  const csv = join(folder, 'plants.csv');
  const stockOf = (/** @type {number} */ n) => (n < plants ? 1_000_000 : units);
  const lines = Array.from({ length: plants + scarce }, (_, n) => `Plant ${n},plant-${n},,,,,,SKU-${n},10,Standard Tax,${stockOf(n)},true,,`);
  writeFileSync(csv, ['name,slug,description,assets,facets,optionGroups,optionValues,sku,price,taxCategory,stockOnHand,trackInventory,variantAssets,variantFacets', ...lines, ''].join('\n'));
  const peer = { port: site.ports.http, databaseUrl: site.databaseUrl, redis: { host: '127.0.0.1', port: site.ports.redis }, csv, customers };
  const env = { PEER: JSON.stringify(peer) };
  await site.run([child, 'seed'], env);
  const graphql = (/** @type {Record<string, string>} */ headers, /** @type {string} */ query, /** @type {object} */ variables = {}) => send('POST', `${site.url}/shop-api`, headers, { query, variables });
  return {
    title: `Vendure ${VERSION}`,
    ...(await site.shop({ server: { args: [child, 'server'], env }, worker: { args: [child, 'worker'], env } }, plants)),
    held: async (plant) => Number(await site.ask(`SELECT coalesce(sum(l.quantity), 0) FROM order_line l JOIN "order" o ON o.id = l."orderId" WHERE o.state IN ('PaymentAuthorized', 'PaymentSettled') AND l."productVariantId" = ${plant}`)),
    async customer(n) {
      const answer = await graphql({}, login, { user: `customer-${n}@example.com` });
      const token = answer.headers['vendure-auth-token'];
      if (answer.body.data?.login?.__typename !== 'CurrentUser' || typeof token !== 'string') throw refusal('login', answer);
      const headers = { authorization: `Bearer ${token}` };
      let isEmpty = true;
      return async (plant) => {
        if (!isEmpty) await graphql(headers, emptied);
        isEmpty = false;
        const answered = await graphql(headers, checkout, { plant });
        const { data } = answered.body;
        if (['PaymentAuthorized', 'PaymentSettled'].includes(data?.addPaymentToOrder?.state)) return (isEmpty = true);
        if (data?.addItemToOrder?.errorCode !== 'INSUFFICIENT_STOCK_ERROR' && data?.transitionOrderToState?.errorCode !== 'ORDER_STATE_TRANSITION_ERROR') throw refusal('checkout', answered);
        return false;
      };
    },
  };
}
