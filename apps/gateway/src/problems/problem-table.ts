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
  /** For the page under `/problems/<code>`: what it means and what the caller can do. */
  readonly meaning: string;
}

/** The one map from code to HTTP. A code that is missing here does not compile. */
export const problemTable: Readonly<Record<ProblemCode, ProblemKind>> = {
  // the request itself
  'route-not-found': {
    status: 404,
    title: 'No such route',
    meaning: 'Nothing is served at this path. Compare it with the API reference; paths are case-sensitive.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, but not for this method. The Allow header names those that it has.',
  },
  unauthorized: {
    status: 401,
    title: 'Credential needed',
    meaning:
      'The operation needs a credential, or one that was sent cannot be read. Send an API key in the header api_key, ' +
      'an access token or session token as Authorization: Bearer, or a session token in the header session_token.',
  },
  'credential-refused': {
    status: 401,
    title: 'Credential refused',
    meaning: 'A credential that was sent is unknown, expired or revoked. Every credential that is sent must be valid.',
  },
  forbidden: {
    status: 403,
    title: 'Not permitted',
    meaning: 'The credential is valid, but does not carry the permission that the operation needs.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    meaning: 'The limit of requests per minute is used up. Wait as long as Retry-After says.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The Content-Type is missing or not the one that the operation takes. The detail names that one.',
  },
  'payload-too-large': {
    status: 413,
    title: 'Body too large',
    meaning: 'The body is larger than the operation takes: 1 MiB of JSON or form data, 10 MiB for an image.',
  },
  'malformed-json': {
    status: 400,
    title: 'Malformed JSON',
    meaning: 'The body is not JSON in UTF-8.',
  },
  'malformed-request': {
    status: 400,
    title: 'Malformed request',
    meaning: 'The request breaks the rules of HTTP, of its URL or of its multipart body.',
  },
  'invalid-input': {
    status: 400,
    title: 'Invalid input',
    meaning: 'Fields or parameters have values that cannot be. The member errors names each with what it must be.',
  },
  'invalid-cursor': {
    status: 400,
    title: 'Invalid cursor',
    meaning: 'The cursor does not come from an earlier page of this list. Begin again without one.',
  },
  'uri-too-long': {
    status: 414,
    title: 'Path too long',
    meaning: 'A part of the path is longer than anything that it could name.',
  },
  'range-not-satisfiable': {
    status: 416,
    title: 'Range beyond the end',
    meaning: 'The file ends before the range that was asked for. Content-Range says how many bytes it has.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Headers too large',
    meaning: 'The request line and headers together are larger than 16 KiB.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request took too long',
    meaning: 'The request was not sent completely in time. Nothing happened.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Changed meanwhile',
    meaning: 'The resource has another version than If-Match asked for. Read it again and decide anew.',
  },
  // plants
  'plant-not-found': { status: 404, title: 'No such plant', meaning: 'There is no plant with this id.' },
  'plant-exists': {
    status: 409,
    title: 'Plant id taken',
    meaning: 'Another plant has this id. Choose another one, or leave it out and one is assigned.',
  },
  'plant-has-pending-orders': {
    status: 409,
    title: 'Plant has pending orders',
    meaning: 'Orders that are placed or approved name this plant; the member orders lists them. Delete it when they are closed.',
  },
  'image-not-found': { status: 404, title: 'No such image', meaning: 'There is no image with this id.' },
  'image-too-large': { status: 413, title: 'Image too large', meaning: 'An image may have at most 10 MiB.' },
  'image-type-refused': {
    status: 415,
    title: 'Image type refused',
    meaning: 'The file looks like HTML, SVG or XML, which is never stored.',
  },
  'upload-not-found': {
    status: 503,
    title: 'Upload lost',
    meaning: 'The upload took so long that its beginning was given up. Nothing was stored; send the image again.',
  },
  'too-many-photos': {
    status: 409,
    title: 'Too many photographs',
    meaning: 'The plant has as many photoUrls as are allowed. Remove one first.',
  },
  // store
  'plant-not-available': {
    status: 409,
    title: 'Plant not available',
    meaning: 'Only plants listed as available can be ordered.',
  },
  'insufficient-stock': {
    status: 409,
    title: 'Not enough stock',
    meaning: 'Fewer units are free than were ordered; the member available says how many.',
  },
  'order-not-found': { status: 404, title: 'No such order', meaning: 'You have no order with this id.' },
  'order-exists': {
    status: 409,
    title: 'Order id taken',
    meaning: 'Another order has this id. Choose another one, or leave it out and one is assigned.',
  },
  'order-not-cancellable': {
    status: 409,
    title: 'Order can no longer be cancelled',
    meaning: 'Only placed orders can be cancelled. This one has been approved or delivered.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    meaning: 'Use a new key for each request, and the same only to repeat that very request.',
  },
  'order-not-payable': {
    status: 409,
    title: 'The order takes no payment',
    meaning:
      'The payment came too late or twice: the order is cancelled, or paid already. It is noted that it is to be given back.',
  },
  'order-transition-refused': {
    status: 409,
    title: 'Order is in another state',
    meaning: 'The order cannot go from its present state to the one that was asked for.',
  },
  'customer-closed': {
    status: 409,
    title: 'Account is being deleted',
    meaning: 'The account is being deleted and can place no orders any more.',
  },
  // identity
  'user-not-found': { status: 404, title: 'No such user', meaning: 'There is no user with this name.' },
  'username-taken': { status: 409, title: 'Username taken', meaning: 'Another user has this name; upper and lower case do not differ.' },
  'user-id-taken': { status: 409, title: 'User id taken', meaning: 'Another user has this id. Leave it out and one is assigned.' },
  'user-has-open-orders': {
    status: 409,
    title: 'User has open orders',
    meaning: 'Orders that are placed or approved belong to this user; the member orders lists them. Close or transfer them first.',
  },
  'login-failed': { status: 401, title: 'Login failed', meaning: 'There is no user with this name and password.' },
  'too-many-logins': {
    status: 429,
    title: 'Too many failed logins',
    meaning: 'Too many logins failed for this name or from this address. Wait as long as Retry-After says.',
  },
  'api-key-not-found': { status: 404, title: 'No such API key', meaning: 'The user has no API key with this id.' },
  'too-many-api-keys': {
    status: 409,
    title: 'Too many API keys',
    meaning: 'The user has as many live keys as are allowed. Revoke one first.',
  },
  // the shop as a whole
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'There is more work than can be taken. Nothing happened; try again after Retry-After.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    meaning: 'A part of the shop cannot be reached. Nothing happened; try again after Retry-After.',
  },
  'outcome-unknown': {
    status: 503,
    title: 'Outcome unknown',
    meaning:
      'The request was passed on, but its answer was lost: it may have taken effect. Look whether it did before you repeat it.',
  },
  'unknown-operation': {
    status: 503,
    title: 'Not available yet',
    meaning: 'A part of the shop runs an older release that does not know this operation. Nothing happened; try again later.',
  },
  'malformed-frame': { status: 500, title: 'Internal error', meaning: 'A defect of the shop, already in its log.' },
  internal: { status: 500, title: 'Internal error', meaning: 'A defect of the shop, already in its log.' },
};

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(problemTable, code);
