import { type Permission, type PermissionPolicy, readingOrders } from '@plant-shop/contracts/permissions';

/**
 * What a caller needs for an operation.
 *
 * - `open`: no authentication; credentials are ignored and identity is not called. With `cost`, rate and concurrency are
 *   limited: per client address, or with `byCredential` per credential if this gateway already knows it to be valid.
 * - `optional`: no authentication. A valid credential identifies the caller; a refused one is ignored.
 * - `authenticated`: any valid credential; the owning service checks ownership.
 * - `permission`: any of the permissions, or a credential of a kind.
 */
export type AccessPolicy =
  | { readonly kind: 'open'; readonly cost?: number; readonly byCredential?: true }
  | { readonly kind: 'optional' }
  | { readonly kind: 'authenticated' }
  | ({ readonly kind: 'permission' } & PermissionPolicy);

/** Whether requests count against the rate limit (429 beyond it). */
export const isRateLimited = (policy: AccessPolicy): boolean => policy.kind !== 'open' || policy.cost !== undefined;

const open: AccessPolicy = { kind: 'open' };
const limitedByAddress = (cost: number): AccessPolicy => ({ kind: 'open', cost });
const limitedByCredential: AccessPolicy = { kind: 'open', cost: 1, byCredential: true };
const optionalCredential: AccessPolicy = { kind: 'optional' };
const authenticated: AccessPolicy = { kind: 'authenticated' };
const permission = (...anyOf: Permission[]): AccessPolicy => ({ kind: 'permission', anyOf });
const anyKeyOr = (...anyOf: Permission[]): AccessPolicy => ({ kind: 'permission', anyOf, orKind: 'apiKey' });
const orderReader: AccessPolicy = { kind: 'permission', ...readingOrders };

/**
 * The access policy of each operation; a route without one keeps the gateway from starting.
 * Reasons: docs/decisions/credentials-and-permissions.md.
 */
export const access = {
  createPlant: permission('write:plants'),
  replacePlant: permission('write:plants'),
  changePlant: permission('write:plants'),
  deletePlant: permission('write:plants'),
  uploadImage: permission('write:plants'),
  getPlant: limitedByCredential,
  findPlantsByStatus: limitedByCredential,
  findPlantsByTags: limitedByCredential,
  searchPlants: limitedByCredential,
  getPlantFacets: limitedByCredential,
  importPlants: permission('write:plants'),
  exportPlants: permission('write:plants'),
  getImage: limitedByCredential,

  placeOrder: permission('write:orders'),
  getOrder: orderReader,
  listOrders: orderReader,
  getTimeline: orderReader,
  transferOrder: permission('manage:orders'),
  reportPayment: permission('write:payments'),
  listRefunds: permission('write:payments'),
  getRefund: permission('write:payments'),
  completeRefund: permission('write:payments'),
  shipOrder: permission('write:shipments'),
  deliverOrder: permission('write:shipments'),
  cancelOrder: permission('write:orders', 'manage:orders'),
  readInventory: anyKeyOr('write:orders', 'read:orders', 'write:stock'),
  getStock: permission('write:stock'),
  setStock: permission('write:stock'),

  // An Idempotency-Key is honoured only with a valid credential.
  createUser: optionalCredential,
  createUsers: optionalCredential,
  login: limitedByCredential,
  // Reads the token itself, since it answers 200 even without a live session. Identity looks up every token sent.
  logout: limitedByAddress(1),
  // The user and callers with `write:users` see more.
  getUser: optionalCredential,
  listUsers: permission('write:users'),
  setUserRole: permission('write:users'),
  updateUser: authenticated,
  deleteUser: authenticated,
  createApiKey: authenticated,
  listApiKeys: authenticated,
  revokeApiKey: authenticated,
  rotateApiKey: authenticated,
  listSessions: authenticated,
  endSession: authenticated,
  endSessions: authenticated,

  createOAuthClient: permission('write:users'),
  listOAuthClients: permission('write:users'),
  getOAuthClient: permission('write:users'),
  deleteOAuthClient: permission('write:users'),
  rotateOAuthClientSecret: permission('write:users'),

  listAudit: permission('write:users'),

  createWebhook: permission('webhooks'),
  listWebhooks: permission('webhooks'),
  getWebhook: permission('webhooks'),
  replaceWebhook: permission('webhooks'),
  deleteWebhook: permission('webhooks'),
  rotateWebhookSecret: permission('webhooks'),
  testWebhook: permission('webhooks'),
  listDeliveries: permission('webhooks'),
  resendDelivery: permission('webhooks'),
  replayEvents: permission('webhooks'),

  getOAuth: limitedByAddress(1),
  postOAuth: limitedByAddress(1),
  // Identity stores each for half an hour, before any login. By default one address may begin 600 a minute.
  beginAuthorization: limitedByAddress(100),
  getOpenApi: open,
  showDocs: open,
  redirectToDocs: open,
  getDocsFile: open,
  showConsole: open,
  getConsoleFile: open,
  getConsoleSettings: open,
  overview: open,
  live: open,
  ready: open,
  listProblems: open,
  showProblem: open,
} as const satisfies Record<string, AccessPolicy>;

export type OperationName = keyof typeof access;
