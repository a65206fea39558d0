import type { CredentialKind, Permission } from '@plant-shop/contracts/permissions';

/**
 * What a request must show.
 *
 * - `open`: no authentication; credentials are ignored, and identity is not asked about them. With `countsAs`, requests are
 *   limited in number and concurrency, and counted by client address; with `byCredential`, by the credential if it is one
 *   that this gateway already knows to be valid.
 * - `anyone`: no authentication. A valid credential says who asks; one that is refused is ignored.
 * - `caller`: any valid credential; the owning service knows whose things are whose.
 * - `permission`: one of the permissions, or a credential of a kind that is enough by itself.
 */
export type Needs =
  | { readonly kind: 'open'; readonly countsAs?: number; readonly byCredential?: true }
  | { readonly kind: 'anyone' }
  | { readonly kind: 'caller' }
  | { readonly kind: 'permission'; readonly anyOf: readonly Permission[]; readonly orAny?: CredentialKind };

/** Whether requests are counted, and answered 429 beyond the limit. */
export const isCounted = (needs: Needs): boolean => needs.kind !== 'open' || needs.countsAs !== undefined;

const open: Needs = { kind: 'open' };
const countedByAddress = (countsAs: number): Needs => ({ kind: 'open', countsAs });
const unauthenticated: Needs = { kind: 'open', countsAs: 1, byCredential: true };
const anyone: Needs = { kind: 'anyone' };
const caller: Needs = { kind: 'caller' };
const permission = (...anyOf: Permission[]): Needs => ({ kind: 'permission', anyOf });
const anyKeyOr = (...anyOf: Permission[]): Needs => ({ kind: 'permission', anyOf, orAny: 'apiKey' });

/** Who may do what, by operation. A route without a line does not start. Why so: docs/decisions/credentials-and-permissions.md. */
export const access = {
  createPlant: permission('write:plants'),
  replacePlant: permission('write:plants'),
  changePlant: permission('write:plants'),
  deletePlant: permission('write:plants'),
  uploadImage: permission('write:plants'),
  getPlant: unauthenticated,
  findPlantsByStatus: unauthenticated,
  findPlantsByTags: unauthenticated,
  searchPlants: unauthenticated,
  getPlantFacets: unauthenticated,
  importPlants: permission('write:plants'),
  exportPlants: permission('write:plants'),
  getImage: unauthenticated,

  placeOrder: permission('write:orders'),
  getOrder: anyKeyOr('write:orders', 'read:orders'),
  listOrders: anyKeyOr('write:orders', 'read:orders'),
  getTimeline: anyKeyOr('write:orders', 'read:orders'),
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

  // A valid credential makes an Idempotency-Key count.
  createUser: anyone,
  createUsers: anyone,
  login: unauthenticated,
  // Answers 200 also without a live session, so it reads the token itself. Each that is shown is looked for by identity.
  logout: countedByAddress(1),
  // Callers who manage users, and users in person, see more.
  getUser: anyone,
  listUsers: permission('write:users'),
  setUserRole: permission('write:users'),
  updateUser: caller,
  deleteUser: caller,
  createApiKey: caller,
  listApiKeys: caller,
  revokeApiKey: caller,
  rotateApiKey: caller,
  listSessions: caller,
  endSession: caller,
  endSessions: caller,

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

  getOAuth: countedByAddress(1),
  postOAuth: countedByAddress(1),
  // Identity keeps each for half an hour, before anybody has logged in: by default 600 a minute from one address.
  beginAuthorization: countedByAddress(100),
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
} as const satisfies Record<string, Needs>;

export type OperationName = keyof typeof access;
