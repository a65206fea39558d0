import { randomUUID } from 'node:crypto';
import { rows } from '../internals.js';
import { createPlant, type Customer, fresh, newCustomer, ok, placeOrder, send, staff } from '../shop.js';

export const permissions = [
  'write:plants',
  'read:stock',
  'write:stock',
  'read:orders',
  'write:orders',
  'manage:orders',
  'write:payments',
  'write:shipments',
  'write:users',
  'webhooks',
  'read:plants',
] as const;
export type Permission = (typeof permissions)[number];

/**
 * The credentials that an operation requires.
 *
 * - `open`: none; credentials, valid or not, are ignored.
 * - `optional`: none; valid credentials may show more, and invalid ones are ignored.
 * - `anyone`: any valid credential.
 * - `self`: the session of the user in the path, or `write:users`.
 * - permissions: one of them; with `any key`, every valid API key too.
 */
export type Needs = 'open' | 'optional' | 'anyone' | 'self' | readonly (Permission | 'any key')[];

export interface AccessRow {
  readonly operation: string;
  readonly method: string;
  /** Refers to things that do not exist, except the user, so that an allowed request changes nothing. */
  readonly path: string;
  readonly needs: Needs;
  /** Permissions that the request passes on, which its credentials must have too. */
  readonly passesOn?: readonly Permission[];
  readonly body?: 'json' | 'list' | 'form' | 'multipart' | 'lines';
  /** JSON body, for operations whose service decides on access; others get a body of the wrong type, refused after authorization. */
  readonly json?: unknown;
  /** Only for changes that staff may make to what others own: one that takes effect. The audit log must have an entry for it. */
  readonly change?: Change;
}

/** Makes one request that takes effect, after creating what it needs. */
type Change = (request: (method: string, path: string, json?: unknown) => Promise<unknown>) => Promise<unknown>;

const picture = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const newOrder = async (): Promise<string> => `/v3/store/order/${(await placeOrder({ plantId: (await createPlant()).id }, await newCustomer())).id}`;
const newUser = async (): Promise<string> => `/v3/user/${(await newCustomer()).username}`;
const approvedOrder = async (): Promise<string> => {
  const path = await newOrder();
  await ok(send('POST', `${path}/payment`, { as: staff, json: { outcome: 'succeeded', reference: fresh('paid') } }));
  return path;
};
const newKeyOf = async ({ username, bearer }: Customer): Promise<string> =>
  `/v3/user/${username}/apiKeys/${(await ok(send<{ id: string }>('POST', `/v3/user/${username}/apiKeys`, { as: { bearer }, json: { name: 'k' } }))).id}`;
const newClient = () => ({ name: fresh('client'), grantTypes: ['client_credentials'], scopes: ['write:orders'], owner: 'admin' });
const registeredClient = async (): Promise<string> =>
  `/v3/oauth/clients/${(await ok(send<{ clientId: string }>('POST', '/v3/oauth/clients', { as: staff, json: newClient() }))).clientId}`;

/** Nobody answers there. */
const newDestination = () => ({ name: fresh('destination'), url: 'tls://broker.example.com:4222', stream: 'EVENTS' });
/** Does something with a new destination, and deletes it. */
async function onDestination(work: (path: string) => Promise<unknown>): Promise<void> {
  const { id } = await ok(send<{ id: string }>('POST', '/v3/destinations', { as: staff, json: newDestination() }));
  await work(`/v3/destinations/${id}`);
  await send('DELETE', `/v3/destinations/${id}`, { as: staff });
}

/** Reports a payment for a cancelled order. @returns the id of the due refund */
async function dueRefund(): Promise<number> {
  const path = await newOrder();
  await ok(send('DELETE', path, { as: staff }));
  await send('POST', `${path}/payment`, { as: staff, json: { outcome: 'succeeded', reference: fresh('late') } });
  const [newest] = await ok(send<{ id: number }[]>('GET', '/v3/store/refund?status=due&limit=1', { as: staff }));
  return newest?.id ?? 0;
}

/** Places a basket of staff's. @returns its path */
const newBasket = async (): Promise<string> => {
  const plantIds = [(await createPlant()).id, (await createPlant()).id];
  const { id } = await ok(send<{ id: number }>('POST', '/v3/store/basket', { as: await newCustomer(), json: { lines: plantIds.map((plantId) => ({ plantId })) } }));
  return `/v3/store/basket/${id}`;
};

/** Adds a sent mail about an order, to a user whose address nobody knows. @returns its id */
async function sentMail(): Promise<string> {
  const [mail, user] = [randomUUID(), randomUUID()];
  await rows('notifications', `INSERT INTO mail_recipients (user_id, version, key_id, encrypted) VALUES ($1, 1, 'unknown', '')`, [user]);
  await rows(
    'notifications',
    `INSERT INTO mails (id, kind, user_id, order_id, event, state, ended_at) VALUES ($1, 'order-placed', $2, 1, '{"data":{}}', 'sent', now())`,
    [mail, user],
  );
  return mail;
}

const order = '/v3/store/order/987654321987654';
const basket = '/v3/store/basket/987654321987654';
const plant = '/v3/plant/987654321987654';
const webhook = '/v3/webhooks/00000000-0000-4000-8000-000000000001';
const destination = '/v3/destinations/00000000-0000-4000-8000-000000000001';
const oauthClient = '/v3/oauth/clients/987654321987654';
const user = '/v3/user/{user}';
const key = `${user}/apiKeys/00000000-0000-4000-8000-000000000001`;

const row = (operation: string, request: string, needs: Needs, more: Pick<AccessRow, 'passesOn' | 'body' | 'json' | 'change'> = {}): AccessRow => {
  const [method = '', path = ''] = request.split(' ');
  return { operation, method, path, needs, ...more };
};
const optional = (operation: string, request: string, more: Pick<AccessRow, 'body' | 'json'> = {}): AccessRow => row(operation, request, 'optional', more);
const open = (operation: string, request: string): AccessRow => row(operation, request, 'open');

/**
 * The access rules, derived from the specification and its decisions page and not from the declarations in libs/contracts. The
 * tests compare the two, and every response with this table.
 */
export const accessTable: readonly AccessRow[] = [
    row('createPlant', 'POST /v3/plant', ['write:plants'], {
      body: 'json',
      change: (request) => request('POST', '/v3/plant', { name: 'Ficus', photoUrls: [] }),
    }),
    row('replacePlant', 'PUT /v3/plant', ['write:plants'], {
      body: 'json',
      change: async (request) => request('PUT', '/v3/plant', { ...(await createPlant()), name: 'Ficus' }),
    }),
    row('changePlant', `POST ${plant}`, ['write:plants'], {
      body: 'form',
      change: async (request) => request('POST', `/v3/plant/${(await createPlant()).id}`, new URLSearchParams({ name: 'Ficus' })),
    }),
    row('patchPlant', `PATCH ${plant}`, ['write:plants'], {
      body: 'json',
      change: async (request) => request('PATCH', `/v3/plant/${(await createPlant()).id}`, { name: 'Ficus' }),
    }),
    row('deletePlant', `DELETE ${plant}`, ['write:plants'], {
      change: async (request) => request('DELETE', `/v3/plant/${(await createPlant()).id}`),
    }),
    row('uploadImage', `POST ${plant}/uploadImage`, ['write:plants'], {
      body: 'multipart',
      change: async (request) => {
        const form = new FormData();
        form.set('file', new Blob([picture]), 'a.png');
        return request('POST', `/v3/plant/${(await createPlant()).id}/uploadImage`, form);
      },
    }),
  open('getPlant', `GET ${plant}`),
  open('findPlantsByStatus', 'GET /v3/plant/findByStatus'),
  open('findPlantsByTags', 'GET /v3/plant/findByTags'),
    row('importPlants', 'POST /v3/plant/import', ['write:plants'], {
      body: 'lines',
      change: async (request) => request('POST', '/v3/plant/import', new Blob([`${JSON.stringify({ ...(await createPlant()), name: 'Fig' })}\n`], { type: 'application/x-ndjson' })),
    }),
    row('previewImport', 'POST /v3/plant/import/preview', ['write:plants'], { body: 'lines' }),
    row('exportPlants', 'GET /v3/plant/export', ['write:plants']),
  open('searchPlants', 'GET /v3/plant/search'),
  open('listPlantChanges', 'GET /v3/plant/changes'),
  open('getPlantFacets', 'GET /v3/plant/facets'),
  open('getImage', 'GET /v3/images/00000000-0000-4000-8000-000000000001'),

    row('placeOrder', 'POST /v3/store/order', ['write:orders'], { body: 'json' }),
    row('listOrders', 'GET /v3/store/order', ['any key', 'write:orders', 'read:orders']),
    row('countOrders', 'GET /v3/store/order/counts', ['any key', 'write:orders', 'read:orders']),
    row('getOrder', `GET ${order}`, ['any key', 'write:orders', 'read:orders']),
    row('getTimeline', `GET ${order}/timeline`, ['any key', 'write:orders', 'read:orders']),
    row('cancelOrder', `DELETE ${order}`, ['write:orders', 'manage:orders'], { change: async (request) => request('DELETE', await newOrder()) }),
    row('cancelOrderByStaff', `POST ${order}/cancellation`, ['manage:orders'], {
      body: 'json',
      change: async (request) => request('POST', `${await approvedOrder()}/cancellation`, { reason: 'The plant died', restock: false }),
    }),
    row('addOrderNote', `POST ${order}/note`, ['manage:orders'], {
      body: 'json',
      change: async (request) => request('POST', `${await newOrder()}/note`, { text: 'Call first' }),
    }),
    row('transferOrder', `POST ${order}/transfer`, ['manage:orders'], {
      body: 'json',
      change: async (request) => request('POST', `${await newOrder()}/transfer`, { username: 'admin' }),
    }),
    row('reportPayment', `POST ${order}/payment`, ['write:payments'], {
      body: 'json',
      change: async (request) => request('POST', `${await newOrder()}/payment`, { outcome: 'succeeded', reference: fresh('paid') }),
    }),
    row('placeBasket', 'POST /v3/store/basket', ['write:orders'], { body: 'json' }),
    row('getBasket', `GET ${basket}`, ['any key', 'write:orders', 'read:orders']),
    row('cancelBasket', `DELETE ${basket}`, ['write:orders', 'manage:orders'], { change: async (request) => request('DELETE', await newBasket()) }),
    row('reportBasketPayment', `POST ${basket}/payment`, ['write:payments'], {
      body: 'json',
      change: async (request) => request('POST', `${await newBasket()}/payment`, { outcome: 'succeeded', reference: fresh('paid') }),
    }),
    row('listRefunds', 'GET /v3/store/refund', ['write:payments']),
    row('getRefund', 'GET /v3/store/refund/987654321987654', ['write:payments']),
    row('completeRefund', 'POST /v3/store/refund/987654321987654/completion', ['write:payments'], {
      body: 'json',
      change: async (request) => request('POST', `/v3/store/refund/${await dueRefund()}/completion`, { reference: fresh('back') }),
    }),
    row('shipOrder', `POST ${order}/shipment`, ['write:shipments'], {
      body: 'json',
      change: async (request) => request('POST', `${await approvedOrder()}/shipment`, { carrier: 'c', trackingNumber: 't' }),
    }),
    row('deliverOrder', `POST ${order}/delivery`, ['write:shipments'], {
      change: async (request) => request('POST', `${await approvedOrder()}/delivery`),
    }),
    row('readInventory', 'GET /v3/store/inventory', ['any key', 'write:orders', 'read:orders', 'read:stock', 'write:stock']),
    row('getStock', 'GET /v3/store/inventory/987654321987654', ['read:stock', 'write:stock']),
  open('getAvailability', `GET ${plant}/availability`),
  open('listAvailability', 'GET /v3/plant/availability'),
    row('adjustStock', 'POST /v3/store/inventory/987654321987654/adjustment', ['write:stock'], {
      body: 'json',
      change: async (request) => request('POST', `/v3/store/inventory/${(await createPlant()).id}/adjustment`, { by: 1, reason: 'delivery' }),
    }),
    row('listUncounted', 'GET /v3/store/uncounted', ['read:stock', 'write:stock']),
    row('listStockChanges', 'GET /v3/store/inventory/987654321987654/changes', ['read:stock', 'write:stock']),
    row('setStock', 'PUT /v3/store/inventory/987654321987654', ['write:stock'], {
      body: 'json',
      change: async (request) => request('PUT', `/v3/store/inventory/${(await createPlant()).id}`, { free: 1 }),
    }),

    optional('createUser', 'POST /v3/user', { body: 'json' }),
    optional('createUsers', 'POST /v3/user/createWithList', { body: 'list' }),
  row('requestRecovery', 'POST /v3/recovery', 'open', { body: 'json' }),
  open('login', 'GET /v3/user/login'),
  open('logout', 'GET /v3/user/logout'),
    optional('getUser', `GET ${user}`),
    row('getOwnUser', 'GET /v3/user/me', 'anyone'),
    row('listUsers', 'GET /v3/user', ['write:users']),
    row('setUserRole', `PUT ${user}/role`, ['write:users'], {
      body: 'json', json: { role: 'customer' },
      change: async (request) => request('PUT', `${await newUser()}/role`, { role: 'staff' }),
    }),
    row('updateUser', `PUT ${user}`, 'self', { body: 'json', json: {}, change: async (request) => request('PUT', await newUser(), { phone: '1' }) }),
    row('patchUser', `PATCH ${user}`, 'self', { body: 'json', json: {}, change: async (request) => request('PATCH', await newUser(), { phone: '1' }) }),
    row('deleteUser', `DELETE ${user}`, 'self', { change: async (request) => request('DELETE', await newUser()) }),
    row('sendEmailVerification', `POST ${user}/emailVerification`, 'self', {
      change: async (request) => {
        const path = await newUser();
        await ok(send('PATCH', path, { as: staff, json: { email: `${fresh('ada')}@shop.test` } }));
        return request('POST', `${path}/emailVerification`);
      },
    }),
    row('createApiKey', `POST ${user}/apiKeys`, 'self', {
      body: 'json', json: { name: 'made by the access test', permissions: ['write:orders'] }, passesOn: ['write:orders'],
      change: async (request) => request('POST', `${await newUser()}/apiKeys`, { name: 'k' }),
    }),
    row('listApiKeys', `GET ${user}/apiKeys`, 'self'),
    row('revokeApiKey', `DELETE ${key}`, 'self', { change: async (request) => request('DELETE', await newKeyOf(await newCustomer())) }),
    row('rotateApiKey', `POST ${key}/rotation`, 'self', {
      body: 'json', json: {},
      change: async (request) => request('POST', `${await newKeyOf(await newCustomer())}/rotation`, {}),
    }),

    row('listSessions', `GET ${user}/sessions`, 'self'),
    row('endSession', `DELETE ${user}/sessions/00000000-0000-4000-8000-000000000001`, 'self', {
      change: async (request) => {
        const { username } = await newCustomer();
        const [session] = await ok(send<{ id: string }[]>('GET', `/v3/user/${username}/sessions`, { as: staff }));
        return request('DELETE', `/v3/user/${username}/sessions/${session?.id}`);
      },
    }),
    row('endSessions', `DELETE ${user}/sessions`, 'self', { change: async (request) => request('DELETE', `${await newUser()}/sessions`) }),

    row('listFactors', `GET ${user}/factors`, 'self'),
    row('removeFactor', `DELETE ${user}/factors/00000000-0000-4000-8000-000000000001`, 'self', {
      passesOn: ['read:plants', 'write:orders', 'webhooks'],
      change: async (request) => {
        const { username } = await newCustomer();
        const id = randomUUID();
        // An authenticator app, whose secret nobody knows: only pages add factors.
        await rows(
          'identity',
          `INSERT INTO factors (id, user_id, kind, name, secret, key_id) SELECT $1, user_id, 'totp', 'Phone', '', 'unknown' FROM users WHERE username = $2`,
          [id, username],
        );
        return request('DELETE', `/v3/user/${username}/factors/${id}`);
      },
    }),

    row('createOAuthClient', 'POST /v3/oauth/clients', ['write:users'], {
      body: 'json',
      change: (request) => request('POST', '/v3/oauth/clients', newClient()),
    }),
    row('listOAuthClients', 'GET /v3/oauth/clients', ['write:users']),
    row('getOAuthClient', `GET ${oauthClient}`, ['write:users']),
    row('deleteOAuthClient', `DELETE ${oauthClient}`, ['write:users'], { change: async (request) => request('DELETE', await registeredClient()) }),
    row('rotateOAuthClientSecret', `POST ${oauthClient}/rotateSecret`, ['write:users'], {
      change: async (request) => request('POST', `${await registeredClient()}/rotateSecret`),
    }),

    row('listAudit', 'GET /v3/audit', ['write:users']),

    row('listMails', 'GET /v3/mails', ['write:users']),
    row('resendMail', 'POST /v3/mails/00000000-0000-4000-8000-000000000001/resend', ['write:users'], {
      change: async (request) => {
        const mail = await sentMail();
        await request('POST', `/v3/mails/${mail}/resend`);
        await rows('notifications', `WITH gone AS (DELETE FROM mails WHERE user_id IN (SELECT user_id FROM mails WHERE id = $1) RETURNING user_id)
          DELETE FROM mail_recipients WHERE user_id IN (SELECT user_id FROM gone)`, [mail]);
      },
    }),

    row('createDestination', 'POST /v3/destinations', ['write:users'], {
      body: 'json',
      change: async (request) => {
        const { id } = (await request('POST', '/v3/destinations', newDestination())) as { id: string };
        await ok(send('DELETE', `/v3/destinations/${id}`, { as: staff }));
      },
    }),
    row('listDestinations', 'GET /v3/destinations', ['write:users']),
    row('getDestination', `GET ${destination}`, ['write:users']),
    row('replaceDestination', `PUT ${destination}`, ['write:users'], { body: 'json', change: (request) => onDestination((path) => request('PUT', path, newDestination())) }),
    row('deleteDestination', `DELETE ${destination}`, ['write:users'], { change: (request) => onDestination((path) => request('DELETE', path)) }),
    row('replayDestination', `POST ${destination}/replay`, ['write:users'], {
      body: 'json',
      change: (request) => onDestination((path) => request('POST', `${path}/replay`, { since: new Date().toISOString() })),
    }),

    row('createWebhook', 'POST /v3/webhooks', ['webhooks'], { body: 'json' }),
    row('listWebhooks', 'GET /v3/webhooks', ['webhooks']),
    row('getWebhook', `GET ${webhook}`, ['webhooks']),
    row('replaceWebhook', `PUT ${webhook}`, ['webhooks'], { body: 'json' }),
    row('deleteWebhook', `DELETE ${webhook}`, ['webhooks']),
    row('rotateWebhookSecret', `POST ${webhook}/rotateSecret`, ['webhooks'], { body: 'json' }),
    row('testWebhook', `POST ${webhook}/test`, ['webhooks']),
    row('listDeliveries', `GET ${webhook}/deliveries`, ['webhooks']),
    row('getDelivery', `GET ${webhook}/deliveries/987654321987654`, ['webhooks']),
    row('resendDelivery', `POST ${webhook}/deliveries/00000000-0000-4000-8000-000000000001/resend`, ['webhooks']),
    row('replayEvents', `POST ${webhook}/replay`, ['webhooks'], { body: 'json' }),
    row('previewReplay', `GET ${webhook}/replay`, ['webhooks']),

  open('live', 'GET /livez'),
  open('ready', 'GET /readyz'),
  open('getOpenApi', 'GET /v3/openapi.json'),
];

/** What a sandbox has beside the others; every other shop answers 404. An allowed reset deletes orders of tests alone. */
export const sandboxTable: readonly AccessRow[] = [
    row('advanceClock', 'POST /v3/test/clock', ['write:users'], {
      body: 'json',
      change: (request) => request('POST', '/v3/test/clock', { advanceSeconds: 1 }),
    }),
    row('sendTestEvent', 'POST /v3/test/events', ['write:users'], {
      body: 'json',
      change: (request) => request('POST', '/v3/test/events', { type: 'stock.out' }),
    }),
    row('resetSandbox', 'POST /v3/test/reset', ['write:users'], { change: (request) => request('POST', '/v3/test/reset') }),
];
