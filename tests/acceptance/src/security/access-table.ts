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
 * What a caller must have.
 *
 * - `nothing looked at`: whatever is shown, good or bad, makes no difference.
 * - `nothing`: what is shown and good may show more; what is bad makes no difference.
 * - `in person`: the session of the user in the path, or `write:users`.
 * - permissions: one of them; with `any key`, every valid API key as well.
 */
export type Needs = 'nothing looked at' | 'nothing' | 'in person' | readonly (Permission | 'any key')[];

export interface Line {
  readonly operation: string;
  readonly method: string;
  /** With names of things that are not there, but for the user: what is let in finds nothing to change. */
  readonly path: string;
  readonly needs: Needs;
  readonly body?: 'json' | 'list' | 'form' | 'multipart' | 'lines';
  /** Sent as JSON where the owner decides; else a body of the wrong type, which is refused behind the credentials. */
  readonly sent?: unknown;
}

const order = '/v3/store/order/987654321987654';
const plant = '/v3/plant/987654321987654';
const webhook = '/v3/webhooks/00000000-0000-4000-8000-000000000001';
const oauthClient = '/v3/oauth/clients/987654321987654';
const user = '/v3/user/{user}';
const key = `${user}/apiKeys/00000000-0000-4000-8000-000000000001`;

const line = (operation: string, request: string, needs: Needs, more: Pick<Line, 'body' | 'sent'> = {}): Line => {
  const [method = '', path = ''] = request.split(' ');
  return { operation, method, path, needs, ...more };
};
const anybody = (operation: string, request: string, more: Pick<Line, 'body' | 'sent'> = {}): Line => line(operation, request, 'nothing', more);
const open = (operation: string, request: string): Line => line(operation, request, 'nothing looked at');

/**
 * Who may do what, written from the specification and its page of decisions, and not from the gateway's own table: the two
 * are compared, and every answer is held against this one.
 */
export const accessTable: readonly Line[] = [
  line('createPlant', 'POST /v3/plant', ['write:plants'], { body: 'json' }),
  line('replacePlant', 'PUT /v3/plant', ['write:plants'], { body: 'json' }),
  line('changePlant', `POST ${plant}`, ['write:plants'], { body: 'form' }),
  line('deletePlant', `DELETE ${plant}`, ['write:plants']),
  line('uploadImage', `POST ${plant}/uploadImage`, ['write:plants'], { body: 'multipart' }),
  open('getPlant', `GET ${plant}`),
  open('findPlantsByStatus', 'GET /v3/plant/findByStatus'),
  open('findPlantsByTags', 'GET /v3/plant/findByTags'),
  line('importPlants', 'POST /v3/plant/import', ['write:plants'], { body: 'lines' }),
  line('exportPlants', 'GET /v3/plant/export', ['write:plants']),
  open('searchPlants', 'GET /v3/plant/search'),
  open('getPlantFacets', 'GET /v3/plant/facets'),
  open('getImage', 'GET /v3/images/00000000-0000-4000-8000-000000000001'),

  line('placeOrder', 'POST /v3/store/order', ['write:orders'], { body: 'json' }),
  line('listOrders', 'GET /v3/store/order', ['any key', 'write:orders', 'read:orders']),
  line('getOrder', `GET ${order}`, ['any key', 'write:orders', 'read:orders']),
  line('getTimeline', `GET ${order}/timeline`, ['any key', 'write:orders', 'read:orders']),
  line('cancelOrder', `DELETE ${order}`, ['write:orders', 'manage:orders']),
  line('transferOrder', `POST ${order}/transfer`, ['manage:orders'], { body: 'json' }),
  line('reportPayment', `POST ${order}/payment`, ['write:payments'], { body: 'json' }),
  line('listRefunds', 'GET /v3/store/refund', ['write:payments']),
  line('getRefund', 'GET /v3/store/refund/987654321987654', ['write:payments']),
  line('completeRefund', 'POST /v3/store/refund/987654321987654/completion', ['write:payments'], { body: 'json' }),
  line('shipOrder', `POST ${order}/shipment`, ['write:shipments'], { body: 'json' }),
  line('deliverOrder', `POST ${order}/delivery`, ['write:shipments']),
  line('readInventory', 'GET /v3/store/inventory', ['any key', 'write:orders', 'read:orders', 'write:stock']),
  line('getStock', 'GET /v3/store/inventory/987654321987654', ['write:stock']),
  line('setStock', 'PUT /v3/store/inventory/987654321987654', ['write:stock'], { body: 'json' }),

  anybody('createUser', 'POST /v3/user', { body: 'json' }),
  anybody('createUsers', 'POST /v3/user/createWithList', { body: 'list' }),
  open('login', 'GET /v3/user/login'),
  open('logout', 'GET /v3/user/logout'),
  anybody('getUser', `GET ${user}`),
  line('listUsers', 'GET /v3/user', ['write:users']),
  line('setUserRole', `PUT ${user}/role`, ['write:users'], { body: 'json', sent: { role: 'customer' } }),
  line('updateUser', `PUT ${user}`, 'in person', { body: 'json', sent: {} }),
  line('deleteUser', `DELETE ${user}`, 'in person'),
  line('createApiKey', `POST ${user}/apiKeys`, 'in person', { body: 'json', sent: { name: 'made by the matrix', permissions: ['write:orders'] } }),
  line('listApiKeys', `GET ${user}/apiKeys`, 'in person'),
  line('revokeApiKey', `DELETE ${key}`, 'in person'),
  line('rotateApiKey', `POST ${key}/rotation`, 'in person', { body: 'json', sent: {} }),

  line('listSessions', `GET ${user}/sessions`, 'in person'),
  line('endSession', `DELETE ${user}/sessions/00000000-0000-4000-8000-000000000001`, 'in person'),
  line('endSessions', `DELETE ${user}/sessions`, 'in person'),

  line('createOAuthClient', 'POST /v3/oauth/clients', ['write:users'], { body: 'json' }),
  line('listOAuthClients', 'GET /v3/oauth/clients', ['write:users']),
  line('getOAuthClient', `GET ${oauthClient}`, ['write:users']),
  line('deleteOAuthClient', `DELETE ${oauthClient}`, ['write:users']),
  line('rotateOAuthClientSecret', `POST ${oauthClient}/rotateSecret`, ['write:users']),

  line('listAudit', 'GET /v3/audit', ['write:users']),

  line('createWebhook', 'POST /v3/webhooks', ['webhooks'], { body: 'json' }),
  line('listWebhooks', 'GET /v3/webhooks', ['webhooks']),
  line('getWebhook', `GET ${webhook}`, ['webhooks']),
  line('replaceWebhook', `PUT ${webhook}`, ['webhooks'], { body: 'json' }),
  line('deleteWebhook', `DELETE ${webhook}`, ['webhooks']),
  line('rotateWebhookSecret', `POST ${webhook}/rotateSecret`, ['webhooks'], { body: 'json' }),
  line('testWebhook', `POST ${webhook}/test`, ['webhooks']),
  line('listDeliveries', `GET ${webhook}/deliveries`, ['webhooks']),
  line('resendDelivery', `POST ${webhook}/deliveries/00000000-0000-4000-8000-000000000001/resend`, ['webhooks']),
  line('replayEvents', `POST ${webhook}/replay`, ['webhooks'], { body: 'json' }),

  open('live', 'GET /livez'),
  open('ready', 'GET /readyz'),
  open('getOpenApi', 'GET /v3/openapi.json'),
];
