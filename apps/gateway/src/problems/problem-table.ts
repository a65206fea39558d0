import type { ErrorCode } from '@plant-shop/contracts/errors';

/** What only HTTP knows. */
export type GatewayCode =
  | 'route-not-found'
  | 'method-not-allowed'
  | 'unauthorized'
  | 'too-many-requests'
  | 'range-not-satisfiable'
  | 'unsupported-media-type'
  | 'malformed-json'
  | 'malformed-request'
  | 'uri-too-long'
  | 'headers-too-large'
  | 'request-timeout';

export type ProblemCode = ErrorCode | GatewayCode;

export interface ProblemKind {
  readonly status: number;
  /** The same for every occurrence (RFC 9457, section 3.1.3). */
  readonly title: string;
  readonly meaning: string;
  /** What the caller can do. */
  readonly remedy: string;
}

/** The one map from code to HTTP. A code that is missing here does not compile. */
export const problemTable: Readonly<Record<ProblemCode, ProblemKind>> = {
  // the request itself
  'route-not-found': {
    status: 404,
    title: 'No such route',
    meaning: 'Nothing is served at this path.',
    remedy: 'Compare it with the API reference; paths are case-sensitive.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, but not for this method.',
    remedy: 'Use one of the methods that the Allow header names.',
  },
  unauthorized: {
    status: 401,
    title: 'Credential needed',
    meaning: 'The operation needs a credential, or one that was sent cannot be read.',
    remedy:
      'Send an API key in the header api_key, an access token or session token as Authorization: Bearer, ' +
      'or a session token in the header session_token; at most one of each kind.',
  },
  'credential-refused': {
    status: 401,
    title: 'Credential refused',
    meaning: 'A credential that was sent is unknown, expired or revoked. Where a credential is needed, every one that is sent must be valid.',
    remedy: 'Log in again, get a new access token, or make a new API key; leave out credentials that you do not need.',
  },
  forbidden: {
    status: 403,
    title: 'Not permitted',
    meaning: 'The credential is valid, but does not carry the permission that the operation needs.',
    remedy: 'Use a credential with the permission that the detail names, or ask staff for it.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    meaning: 'The limit of requests per minute is used up.',
    remedy:
      'Wait as many seconds as Retry-After says. The headers RateLimit and RateLimit-Policy of every ' +
      'answer tell how much is left.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The Content-Type is missing or not the one that the operation takes.',
    remedy: 'Send the body with the Content-Type that the detail names, in UTF-8.',
  },
  'payload-too-large': {
    status: 413,
    title: 'Body too large',
    meaning: 'The body is larger than the operation takes: 896 KiB of JSON or form data, 10 MiB for an image.',
    remedy: 'Send less at once.',
  },
  'malformed-json': {
    status: 400,
    title: 'Malformed JSON',
    meaning: 'The body is not JSON in UTF-8.',
    remedy: 'Look for missing quotes, commas and brackets, and for an empty body.',
  },
  'malformed-request': {
    status: 400,
    title: 'Malformed request',
    meaning: 'The request breaks the rules of HTTP, of its URL or of its multipart body.',
    remedy: 'Use a client library that writes requests; encode the values of a query.',
  },
  'invalid-input': {
    status: 400,
    title: 'Invalid input',
    meaning: 'Fields, parameters or headers have values that cannot be.',
    remedy:
      'Correct each that the member errors names, as it says there. A pointer leads into the body, a ' +
      'parameter is of the path or query.',
  },
  'invalid-cursor': {
    status: 400,
    title: 'Invalid cursor',
    meaning: 'The cursor does not come from an earlier page of this list and filter.',
    remedy: 'Begin again without one, and follow the Link header.',
  },
  'uri-too-long': {
    status: 414,
    title: 'Path too long',
    meaning: 'A part of the path is longer than anything that it could name.',
    remedy: 'Check what is put into the path.',
  },
  'range-not-satisfiable': {
    status: 416,
    title: 'Range beyond the end',
    meaning: 'The file ends before the range that was asked for.',
    remedy: 'Ask for less: Content-Range says how many bytes it has.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Headers too large',
    meaning: 'The request line and headers together are larger than 16 KiB.',
    remedy: 'Send fewer or shorter headers, and a shorter query.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request took too long',
    meaning: 'The request was not sent completely in time. Nothing happened.',
    remedy: 'Send it again, faster or smaller.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Changed meanwhile',
    meaning: 'The resource has another version than If-Match asked for: somebody changed it meanwhile.',
    remedy: 'Read it again, decide anew, and send the change with its new ETag.',
  },
  // plants
  'plant-not-found': {
    status: 404,
    title: 'No such plant',
    meaning: 'There is no plant with this id.',
    remedy: 'Look the id up: the plant may have been deleted.',
  },
  'plant-exists': {
    status: 409,
    title: 'Plant id taken',
    meaning: 'Another plant has this id.',
    remedy: 'Choose another id, or leave it out and one is assigned.',
  },
  'plant-has-pending-orders': {
    status: 409,
    title: 'Plant has pending orders',
    meaning: 'Orders that are placed or approved name this plant; the member orders lists them.',
    remedy: 'Delete it when they are delivered or cancelled.',
  },
  'image-not-found': {
    status: 404,
    title: 'No such image',
    meaning: 'There is no image with this id.',
    remedy: 'Take its address from the photoUrls of a plant, or from the answer to its upload.',
  },
  'image-too-large': {
    status: 413,
    title: 'Image too large',
    meaning: 'An image may have at most 10 MiB.',
    remedy: 'Send a smaller one.',
  },
  'image-type-refused': {
    status: 415,
    title: 'Image type refused',
    meaning: 'The file looks like HTML, SVG or XML, which is never stored.',
    remedy: 'Send a JPEG, PNG, GIF, WebP or AVIF.',
  },
  'upload-not-found': {
    status: 503,
    title: 'Upload lost',
    meaning: 'The upload took so long that its beginning was given up. Nothing was stored.',
    remedy: 'Send the image again.',
  },
  'too-many-photos': {
    status: 409,
    title: 'Too many photographs',
    meaning: 'The plant has as many photoUrls as are allowed.',
    remedy: 'Remove one first, by replacing the plant.',
  },
  // store
  'plant-not-available': {
    status: 409,
    title: 'Plant not available',
    meaning: 'Only plants that are listed as available can be ordered.',
    remedy: 'Choose another plant, or wait until staff list it as available.',
  },
  'insufficient-stock': {
    status: 409,
    title: 'Not enough stock',
    meaning: 'Fewer units are free than were ordered; the member available says how many.',
    remedy: 'Order fewer, or later: cancelled orders give their units back.',
  },
  'order-not-found': {
    status: 404,
    title: 'No such order',
    meaning: 'You have no order with this id.',
    remedy: 'Look the id up in your list of orders. Seeing the orders of others needs read:orders.',
  },
  'order-exists': {
    status: 409,
    title: 'Order id taken',
    meaning: 'Another order has this id.',
    remedy:
      'Choose another id, or leave it out and one is assigned. To repeat a request safely, send an ' +
      'Idempotency-Key.',
  },
  'order-not-cancellable': {
    status: 409,
    title: 'Order can no longer be cancelled',
    meaning: 'Only placed orders can be cancelled. This one has been approved or delivered.',
    remedy: 'Arrange with staff to send it back.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    meaning: 'The Idempotency-Key stands for another request, sent before with another body or to another operation.',
    remedy: 'Use a new key for each request, and the same only to repeat that very request.',
  },
  'order-not-payable': {
    status: 409,
    title: 'The order takes no payment',
    meaning: 'The payment came too late or twice: the order is cancelled, or paid already.',
    remedy: 'Give the payment back and report that as the completion of its refund (GET /v3/store/refund?status=due).',
  },
  'refund-not-found': {
    status: 404,
    title: 'No such refund',
    meaning: 'There is no refund of this id.',
    remedy: 'GET /v3/store/refund lists those that there are.',
  },
  'refund-completed': {
    status: 409,
    title: 'Refund is completed',
    meaning: 'The refund was completed before, with another reference.',
    remedy: 'Read the refund: it says when and by which transfer the money was given back. Look whether it was given back twice.',
  },
  'order-transition-refused': {
    status: 409,
    title: 'Order is in another state',
    meaning: 'The order cannot go from its present state to the one that was asked for.',
    remedy: 'Read the order: its status may have changed meanwhile.',
  },
  'customer-closed': {
    status: 409,
    title: 'Account is being deleted',
    meaning: 'The account is being deleted and can have no new orders.',
    remedy: 'Use another account.',
  },
  // identity
  'user-not-found': {
    status: 404,
    title: 'No such user',
    meaning: 'There is no user with this name.',
    remedy: 'Check the spelling: the user may have been renamed or deleted.',
  },
  'username-taken': {
    status: 409,
    title: 'Username taken',
    meaning: 'Another user has this name; upper and lower case do not differ.',
    remedy: 'Choose another name.',
  },
  'user-id-taken': {
    status: 409,
    title: 'User id taken',
    meaning: 'Another user has this id.',
    remedy: 'Leave the id out and one is assigned.',
  },
  'user-has-open-orders': {
    status: 409,
    title: 'User has open orders',
    meaning: 'Orders that are placed or approved belong to this user; the member orders lists them.',
    remedy: 'Cancel them, transfer them to another user, or wait until they are delivered.',
  },
  'last-admin': {
    status: 409,
    title: 'Last admin',
    meaning: 'No other user has the role admin. The shop must keep one.',
    remedy: 'Give another user the role admin (PUT /v3/user/{username}/role), then repeat the request.',
  },
  'login-failed': {
    status: 401,
    title: 'Login failed',
    meaning: 'There is no user with this name and password.',
    remedy: 'Check both. After too many failures, the name is locked for a while.',
  },
  'too-many-logins': {
    status: 429,
    title: 'Too many failed logins',
    meaning: 'Too many logins failed for this name or from this address.',
    remedy: 'Wait as many seconds as Retry-After says.',
  },
  'api-key-not-found': {
    status: 404,
    title: 'No such API key',
    meaning: 'The user has no API key with this id.',
    remedy: 'Look the id up in the list of keys; the key may have been revoked.',
  },
  'too-many-api-keys': {
    status: 409,
    title: 'Too many API keys',
    meaning: 'The user has as many live keys as are allowed, or the key is being replaced already.',
    remedy: 'Revoke a key first.',
  },
  'session-not-found': {
    status: 404,
    title: 'No such session',
    meaning: 'The user has no open session with this id.',
    remedy: 'Look the id up in the list of sessions; the session may have ended.',
  },
  'oauth-client-not-found': {
    status: 404,
    title: 'No such OAuth client',
    meaning: 'There is no OAuth client with this id.',
    remedy: 'Look the id up in the list of clients.',
  },
  'oauth-client-public': {
    status: 409,
    title: 'The OAuth client is public',
    meaning: 'A public client runs where nothing is secret: it has no secret that could be replaced.',
    remedy: 'Delete the client and make another one, if it is to have a secret.',
  },
  'too-many-oauth-clients': {
    status: 409,
    title: 'Too many OAuth clients',
    meaning: 'There are as many OAuth clients as are allowed.',
    remedy: 'Delete a client first.',
  },
  'webhook-not-found': {
    status: 404,
    title: 'No such webhook',
    meaning: 'There is no webhook with this id that is yours.',
    remedy: 'Look the id up in the list of webhooks.',
  },
  'webhook-disabled': {
    status: 409,
    title: 'Webhook disabled',
    meaning: 'Nothing is sent to a disabled webhook; its events are held.',
    remedy: 'Enable it first: replace it with the state "enabled".',
  },
  'too-many-webhooks': {
    status: 409,
    title: 'Too many webhooks',
    meaning: 'The user has as many webhooks as are allowed.',
    remedy: 'Delete one first, or filter less finely.',
  },
  'delivery-not-found': {
    status: 404,
    title: 'No such delivery',
    meaning: 'The webhook has no delivery with this id, or it is older than what is retained.',
    remedy: 'Look the id up in the list of deliveries.',
  },
  // the shop as a whole
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'There is more work than can be taken. Nothing happened.',
    remedy: 'Try again after Retry-After, with growing pauses.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    meaning: 'A part of the shop cannot be reached. Nothing happened.',
    remedy: 'Try again after Retry-After.',
  },
  'outcome-unknown': {
    status: 503,
    title: 'Outcome unknown',
    meaning: 'The request was passed on, but its answer was lost: it may have taken effect.',
    remedy: 'Repeat it with the same Idempotency-Key; without one, look first whether it took effect.',
  },
  'unknown-operation': {
    status: 503,
    title: 'Not available yet',
    meaning: 'A part of the shop runs an older release that does not know this operation. Nothing happened.',
    remedy: 'Try again later.',
  },
  'malformed-frame': {
    status: 500,
    title: 'Internal error',
    meaning: 'A defect of the shop, already in its log.',
    remedy: 'Tell us the requestId.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    meaning: 'A defect of the shop, already in its log.',
    remedy: 'Tell us the requestId.',
  },
};

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(problemTable, code);
