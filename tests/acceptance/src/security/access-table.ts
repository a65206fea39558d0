export const permissions = [
  'write:plants',
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
 * - `self`: the session of the user in the path, or `write:users`.
 * - permissions: one of them; with `any key`, every valid API key too.
 */
export type Needs = 'open' | 'optional' | 'self' | readonly (Permission | 'any key')[];

export interface AccessRow {
  readonly operation: string;
  readonly method: string;
  /** Refers to things that do not exist, except the user, so that an allowed request changes nothing. */
  readonly path: string;
  readonly needs: Needs;
  readonly body?: 'json' | 'list' | 'form' | 'multipart' | 'lines';
  /** JSON body, for operations whose service decides on access; others get a body of the wrong type, refused after authorization. */
  readonly json?: unknown;
}

const order = '/v3/store/order/987654321987654';
const plant = '/v3/plant/987654321987654';
const webhook = '/v3/webhooks/00000000-0000-4000-8000-000000000001';
const oauthClient = '/v3/oauth/clients/987654321987654';
const user = '/v3/user/{user}';
const key = `${user}/apiKeys/00000000-0000-4000-8000-000000000001`;

const row = (operation: string, request: string, needs: Needs, more: Pick<AccessRow, 'body' | 'json'> = {}): AccessRow => {
  const [method = '', path = ''] = request.split(' ');
  return { operation, method, path, needs, ...more };
};
const optional = (operation: string, request: string, more: Pick<AccessRow, 'body' | 'json'> = {}): AccessRow => row(operation, request, 'optional', more);
const open = (operation: string, request: string): AccessRow => row(operation, request, 'open');

/**
 * The access rules, derived from the specification and its decisions page and not from the gateway's own table. The tests compare
 * the two, and every response with this one.
 */
export const accessTable: readonly AccessRow[] = [
    row('createPlant', 'POST /v3/plant', ['write:plants'], { body: 'json' }),
    row('replacePlant', 'PUT /v3/plant', ['write:plants'], { body: 'json' }),
    row('changePlant', `POST ${plant}`, ['write:plants'], { body: 'form' }),
    row('deletePlant', `DELETE ${plant}`, ['write:plants']),
    row('uploadImage', `POST ${plant}/uploadImage`, ['write:plants'], { body: 'multipart' }),
  open('getPlant', `GET ${plant}`),
  open('findPlantsByStatus', 'GET /v3/plant/findByStatus'),
  open('findPlantsByTags', 'GET /v3/plant/findByTags'),
    row('importPlants', 'POST /v3/plant/import', ['write:plants'], { body: 'lines' }),
    row('exportPlants', 'GET /v3/plant/export', ['write:plants']),
  open('searchPlants', 'GET /v3/plant/search'),
  open('getPlantFacets', 'GET /v3/plant/facets'),
  open('getImage', 'GET /v3/images/00000000-0000-4000-8000-000000000001'),

    row('placeOrder', 'POST /v3/store/order', ['write:orders'], { body: 'json' }),
    row('listOrders', 'GET /v3/store/order', ['any key', 'write:orders', 'read:orders']),
    row('getOrder', `GET ${order}`, ['any key', 'write:orders', 'read:orders']),
    row('getTimeline', `GET ${order}/timeline`, ['any key', 'write:orders', 'read:orders']),
    row('cancelOrder', `DELETE ${order}`, ['write:orders', 'manage:orders']),
    row('transferOrder', `POST ${order}/transfer`, ['manage:orders'], { body: 'json' }),
    row('reportPayment', `POST ${order}/payment`, ['write:payments'], { body: 'json' }),
    row('listRefunds', 'GET /v3/store/refund', ['write:payments']),
    row('getRefund', 'GET /v3/store/refund/987654321987654', ['write:payments']),
    row('completeRefund', 'POST /v3/store/refund/987654321987654/completion', ['write:payments'], { body: 'json' }),
    row('shipOrder', `POST ${order}/shipment`, ['write:shipments'], { body: 'json' }),
    row('deliverOrder', `POST ${order}/delivery`, ['write:shipments']),
    row('readInventory', 'GET /v3/store/inventory', ['any key', 'write:orders', 'read:orders', 'write:stock']),
    row('getStock', 'GET /v3/store/inventory/987654321987654', ['write:stock']),
    row('setStock', 'PUT /v3/store/inventory/987654321987654', ['write:stock'], { body: 'json' }),

    optional('createUser', 'POST /v3/user', { body: 'json' }),
    optional('createUsers', 'POST /v3/user/createWithList', { body: 'list' }),
  open('login', 'GET /v3/user/login'),
  open('logout', 'GET /v3/user/logout'),
    optional('getUser', `GET ${user}`),
    row('listUsers', 'GET /v3/user', ['write:users']),
    row('setUserRole', `PUT ${user}/role`, ['write:users'], { body: 'json', json: { role: 'customer' } }),
    row('updateUser', `PUT ${user}`, 'self', { body: 'json', json: {} }),
    row('deleteUser', `DELETE ${user}`, 'self'),
    row('createApiKey', `POST ${user}/apiKeys`, 'self', { body: 'json', json: { name: 'made by the access test', permissions: ['write:orders'] } }),
    row('listApiKeys', `GET ${user}/apiKeys`, 'self'),
    row('revokeApiKey', `DELETE ${key}`, 'self'),
    row('rotateApiKey', `POST ${key}/rotation`, 'self', { body: 'json', json: {} }),

    row('listSessions', `GET ${user}/sessions`, 'self'),
    row('endSession', `DELETE ${user}/sessions/00000000-0000-4000-8000-000000000001`, 'self'),
    row('endSessions', `DELETE ${user}/sessions`, 'self'),

    row('createOAuthClient', 'POST /v3/oauth/clients', ['write:users'], { body: 'json' }),
    row('listOAuthClients', 'GET /v3/oauth/clients', ['write:users']),
    row('getOAuthClient', `GET ${oauthClient}`, ['write:users']),
    row('deleteOAuthClient', `DELETE ${oauthClient}`, ['write:users']),
    row('rotateOAuthClientSecret', `POST ${oauthClient}/rotateSecret`, ['write:users']),

    row('listAudit', 'GET /v3/audit', ['write:users']),

    row('createWebhook', 'POST /v3/webhooks', ['webhooks'], { body: 'json' }),
    row('listWebhooks', 'GET /v3/webhooks', ['webhooks']),
    row('getWebhook', `GET ${webhook}`, ['webhooks']),
    row('replaceWebhook', `PUT ${webhook}`, ['webhooks'], { body: 'json' }),
    row('deleteWebhook', `DELETE ${webhook}`, ['webhooks']),
    row('rotateWebhookSecret', `POST ${webhook}/rotateSecret`, ['webhooks'], { body: 'json' }),
    row('testWebhook', `POST ${webhook}/test`, ['webhooks']),
    row('listDeliveries', `GET ${webhook}/deliveries`, ['webhooks']),
    row('resendDelivery', `POST ${webhook}/deliveries/00000000-0000-4000-8000-000000000001/resend`, ['webhooks']),
    row('replayEvents', `POST ${webhook}/replay`, ['webhooks'], { body: 'json' }),

  open('live', 'GET /livez'),
  open('ready', 'GET /readyz'),
  open('getOpenApi', 'GET /v3/openapi.json'),
];
