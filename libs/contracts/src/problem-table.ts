import type { PlatformCode } from '@plant-shop/platform/errors';
import { accountProblems, type ProblemKind } from './problem-table.accounts.js';

/** Codes that no service answers with: the gateway and the stream raise them. */
export type HttpCode =
  | 'route-not-found'
  | 'method-not-allowed'
  | 'unauthorized'
  | 'too-many-requests'
  | 'too-many-in-flight'
  | 'range-not-satisfiable'
  | 'not-acceptable'
  | 'expectation-failed'
  | 'unsupported-media-type'
  | 'malformed-json'
  | 'malformed-request'
  | 'uri-too-long'
  | 'headers-too-large'
  | 'request-timeout';

/** All error codes. Without an entry for a code of the platform or of HTTP this does not compile. */
const kinds = {
  // the request itself
  'route-not-found': {
    status: 404,
    title: 'No such route',
    meaning: 'There is nothing at this path.',
    remedy: 'Check it against the API reference. Paths are case-sensitive.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path does not support this method.',
    remedy: 'Use one of the methods in the Allow header.',
  },
  unauthorized: {
    status: 401,
    title: 'Credential needed',
    meaning: 'The operation needs a credential, or a credential that was sent is malformed.',
    remedy:
      'Send an API key in the header api_key, an access token or session token as Authorization: Bearer <token>, ' +
      'or a session token in the header session_token. Send at most one of each kind.',
  },
  'credential-refused': {
    status: 401,
    title: 'Credential refused',
    meaning:
      'A credential that was sent is unknown, expired or revoked. Operations that need a credential require every credential ' +
      'sent to be valid.',
    remedy: 'Log in again, request a new access token, or create a new API key. Leave out credentials that you do not need.',
  },
  forbidden: {
    status: 403,
    title: 'Not permitted',
    meaning: 'The credential is valid but lacks the permission that the operation needs.',
    remedy: 'Use a credential with the permission named in the detail, or ask the shop for it.',
  },
  'recent-login-required': {
    status: 403,
    title: 'Recent login required',
    meaning:
      'The change is sensitive, and the session is older than ten minutes, or the request carries another credential than a session. API keys with ' +
      'write:users are exempt.',
    remedy: 'Log in and repeat the request with the new session, or send your password as the member currentPassword of the body, and if you have a second factor one of its codes as currentCode; without a body, in the headers Current-Password and Current-Code.',
  },
  'second-factor-required': {
    status: 403,
    title: 'Second factor required',
    meaning: 'The password is right, but the account has a second factor, or is one of staff, who must have one.',
    remedy: 'Log in on a page of the shop, which an application opens at /oauth/authorize (OAuth 2.0), such as the console. It asks for the second factor, or lets you add one. Programs use API keys.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    meaning: 'The limit of requests per minute is exhausted.',
    remedy:
      'Wait for the number of seconds in Retry-After. The headers RateLimit and RateLimit-Policy of each response show the ' +
      'limit and what remains of it.',
  },
  'too-many-in-flight': {
    status: 429,
    title: 'Too many requests at once',
    meaning: 'You have so many unanswered requests, or bytes of bodies in them, that others would suffer. Counted are those of your user, or without a valid credential those of your network.',
    remedy: 'Wait for some of the answers, and send fewer requests at the same time. The connection is closed; open a new one after Retry-After.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The Content-Type is missing, the operation does not accept it, or the body has a Content-Encoding.',
    remedy: 'Send the body in UTF-8 with the Content-Type named in the detail, and without compression.',
  },
  'not-acceptable': {
    status: 406,
    title: 'Not acceptable',
    meaning: 'Accept or Accept-Encoding refuses, with q=0, the only form of the response.',
    remedy: 'Leave the header out, or permit what the detail names.',
  },
  'expectation-failed': {
    status: 417,
    title: 'Expectation failed',
    meaning: 'The header Expect has another value than 100-continue.',
    remedy: 'Leave the header out.',
  },
  'payload-too-large': {
    status: 413,
    title: 'Body too large',
    meaning: 'The body exceeds the limit: 384 KiB for a JSON object, 896 KiB for a JSON list, 64 KiB for a form, 10 MiB for an image.',
    remedy: 'Send a smaller body, or split it into several requests.',
  },
  'malformed-json': {
    status: 400,
    title: 'Malformed JSON',
    meaning: 'The body is not JSON in UTF-8.',
    remedy: 'Check for an empty body and for missing quotes, commas and brackets.',
  },
  'malformed-request': {
    status: 400,
    title: 'Malformed request',
    meaning: 'The request, its URL or its form body is not well-formed.',
    remedy: 'Percent-encode the values in the URL, and use an HTTP client library to write requests.',
  },
  'invalid-input': {
    status: 400,
    title: 'Invalid input',
    meaning: 'Fields, parameters or headers have invalid values.',
    remedy:
      'Correct each entry of errors as its detail says. A pointer refers to the body, a parameter to the path or query.',
  },
  'invalid-cursor': {
    status: 400,
    title: 'Invalid cursor',
    meaning: 'The cursor does not come from an earlier page of this list with the same filter.',
    remedy: 'Start again without a cursor and follow the Link header.',
  },
  'cursor-too-old': {
    status: 410,
    title: 'Cursor too old',
    meaning: 'Deletions after the cursor may be forgotten, or the cursor is from before the database was restored.',
    remedy: 'Begin without a cursor, and drop what you have and do not get again.',
  },
  'uri-too-long': {
    status: 414,
    title: 'Path too long',
    meaning: 'A segment of the path is too long.',
    remedy: 'Check the ids and names in the path.',
  },
  'range-not-satisfiable': {
    status: 416,
    title: 'Range beyond the end',
    meaning: 'The requested range begins after the end of the file.',
    remedy: 'Request a range within the file; Content-Range has its length in bytes.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Headers too large',
    meaning: 'The request line and headers together exceed 16 KiB.',
    remedy: 'Send fewer or shorter headers, or a shorter query.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request took too long',
    meaning: 'The request did not arrive completely in time. Nothing was changed.',
    remedy: 'Send it again, faster or with a smaller body.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Changed in the meantime',
    meaning: 'The resource was changed since the version in If-Match.',
    remedy: 'Read it again, decide whether your change still applies, and send it with the new ETag.',
  },
  // plants
  'plant-not-found': {
    status: 404,
    title: 'No such plant',
    meaning: 'There is no plant with this id.',
    remedy: 'Check the id. The plant may have been deleted.',
  },
  'plant-exists': {
    status: 409,
    title: 'Plant id taken',
    meaning: 'Another plant has this id.',
    remedy: 'Choose another id, or omit it to have one assigned.',
  },
  'plant-has-pending-orders': {
    status: 409,
    title: 'Plant has pending orders',
    meaning: 'There are placed or approved orders of this plant; the member orders lists the first 100.',
    remedy: 'Delete the plant once all of them are delivered or cancelled.',
  },
  'image-not-found': {
    status: 404,
    title: 'No such image',
    meaning: 'There is no image with this id.',
    remedy: 'Take the address from the photoUrls of a plant or from the response to the upload.',
  },
  'image-too-large': {
    status: 413,
    title: 'Image too large',
    meaning: 'The image exceeds 10 MiB.',
    remedy: 'Send a smaller image.',
  },
  'image-type-refused': {
    status: 415,
    title: 'Image type refused',
    meaning: 'The file appears to be HTML, SVG or XML, which the shop does not store.',
    remedy: 'Send a JPEG, PNG, GIF, WebP or AVIF image.',
  },
  'upload-not-found': {
    status: 503,
    title: 'Upload expired',
    meaning: 'The upload took too long and was discarded. Nothing was stored.',
    remedy: 'Send the image again.',
  },
  'too-many-photos': {
    status: 409,
    title: 'Too many photographs',
    meaning: 'The plant has the maximum number of photoUrls.',
    remedy: 'Replace the plant without one of its photoUrls first.',
  },
  // store
  'plant-not-available': {
    status: 409,
    title: 'Plant not available',
    meaning: 'Only plants with the status available can be ordered.',
    remedy: 'Choose another plant, or wait until this one is available.',
  },
  'insufficient-stock': {
    status: 409,
    title: 'Not enough stock',
    meaning:
      'The order asks for more units than are in stock. If few are left, or with the permission read:stock, the member available is their ' +
      'number. For a basket, the member lines names each line that lacks units; nothing was ordered.',
    remedy: 'Order fewer units, or try again later: cancelled orders return their units to stock.',
  },
  'order-not-found': {
    status: 404,
    title: 'No such order',
    meaning: 'You have no order with this id.',
    remedy: "Look the id up in your list of orders. Other users' orders require the permission read:orders.",
  },
  'order-exists': {
    status: 409,
    title: 'Order id taken',
    meaning: 'Another order has this id.',
    remedy: 'Choose another id, or omit it to have one assigned. To repeat a request safely, send an Idempotency-Key.',
  },
  'basket-not-found': {
    status: 404,
    title: 'No such basket',
    meaning: 'You have no basket with this id.',
    remedy: "Look the basketId up in your list of orders. Other users' baskets require the permission read:orders.",
  },
  'external-id-exists': {
    status: 409,
    title: 'External id taken',
    meaning: 'Another resource of the same kind has this external id. The problem names it if you may see it.',
    remedy: 'If that is the one you meant to create, use it. Otherwise choose another external id. To repeat a request safely, send an Idempotency-Key.',
  },
  'order-not-cancellable': {
    status: 409,
    title: 'Order can no longer be cancelled',
    meaning: 'Only placed orders can be cancelled. This order was approved or delivered. For a basket, the member orders lists such orders; nothing was cancelled.',
    remedy: 'Contact the shop to return it.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'Idempotency-Key was used for another request',
    meaning: 'The Idempotency-Key was sent before with another body or to another operation.',
    remedy: 'Use a new key for each request. Reuse a key only to repeat the same request.',
  },
  'order-not-payable': {
    status: 409,
    title: 'Order cannot be paid',
    meaning: 'The order, or one of the basket, is cancelled or already paid, so the payment came too late or twice.',
    remedy: 'Return the money and complete the refund that was created for each order (GET /v3/store/refund?status=due).',
  },
  'payment-reference-used': {
    status: 409,
    title: 'Payment reported for another order',
    meaning: 'The reference belongs to a payment of another order or basket. One reference pays one of them, whatever its outcome.',
    remedy: 'Report the payment for the order that it was made for. If the provider made two payments, report each with its own reference.',
  },
  'refund-not-found': {
    status: 404,
    title: 'No such refund',
    meaning: 'There is no refund with this id.',
    remedy: 'Look the id up in the list of refunds (GET /v3/store/refund).',
  },
  'refund-completed': {
    status: 409,
    title: 'Refund already completed',
    meaning: 'The refund was completed before, with another reference.',
    remedy: 'Read the refund for the time and reference of its completion, and check whether the money was returned twice.',
  },
  'refund-reference-used': {
    status: 409,
    title: 'Transfer completed another refund',
    meaning: 'Another refund was completed with this reference. One transfer returns the money of one refund, or of several of one basket.',
    remedy: 'Check whether the money of this refund was returned, and report the reference of its own transfer.',
  },
  'order-transition-refused': {
    status: 409,
    title: 'Order is in another state',
    meaning: 'The operation is not possible in the current status of the order.',
    remedy: 'Read the order: its status may have changed in the meantime.',
  },
  'unpaid-limit': {
    status: 409,
    title: 'Too many unpaid orders',
    meaning: 'Your unpaid orders reserve as much as one customer may reserve without paying; the member orders lists the first 100.',
    remedy: 'Pay or cancel some of the orders in `orders`, or wait until they expire. Then place the order again.',
  },
  'customer-closed': {
    status: 409,
    title: 'Account is being deleted',
    meaning: 'The account is being deleted, and can get neither new orders nor notes on them.',
    remedy: 'Use another account.',
  },
  // identity
  ...accountProblems,
  'webhook-not-found': {
    status: 404,
    title: 'No such webhook',
    meaning: 'You have no webhook with this id.',
    remedy: 'Look the id up in your list of webhooks.',
  },
  'webhook-disabled': {
    status: 409,
    title: 'Webhook disabled',
    meaning: 'Nothing is sent to a disabled webhook; its events are held.',
    remedy: 'Enable the webhook first: replace it with the state "enabled".',
  },
  'replay-in-progress': {
    status: 409,
    title: 'Replay in progress',
    meaning: 'Deliveries of the last replay of this webhook were not attempted yet; `waiting` is their number.',
    remedy: 'Replay again once they have been. Ask again after `retryAfter` seconds.',
  },
  'too-many-deliveries': {
    status: 429,
    title: 'Too many deliveries waiting',
    meaning:
      'So many deliveries of this webhook, or of all your webhooks, wait to be sent (`waiting`) that none is added on request. Events of ' +
      'orders are still enqueued.',
    remedy: 'Wait until some have been sent, speed the receiver up, or delete webhooks that nobody reads.',
  },
  'too-many-webhooks': {
    status: 409,
    title: 'Too many webhooks',
    meaning: 'The user has the maximum number of webhooks.',
    remedy: 'Delete one first, or use broader filters with fewer webhooks.',
  },
  'destination-not-found': {
    status: 404,
    title: 'No such destination',
    meaning: 'There is no destination with this id.',
    remedy: 'Look the id up in the list of destinations.',
  },
  'too-many-destinations': {
    status: 409,
    title: 'Too many destinations',
    meaning: 'The shop has the maximum number of destinations.',
    remedy: 'Delete a destination first.',
  },
  'delivery-not-found': {
    status: 404,
    title: 'No such delivery',
    meaning: 'The webhook has no delivery with this id, or the delivery is no longer retained.',
    remedy: 'Look the id up in the list of deliveries.',
  },
  'mail-disabled': {
    status: 409,
    title: 'The shop sends no mail',
    meaning: 'The shop has no mail server, so it sends no mail. Nothing was changed.',
    remedy: 'Ask the shop to configure one (the settings SMTP_URL and MAIL_FROM).',
  },
  'mail-not-found': {
    status: 404,
    title: 'No such mail',
    meaning: 'There is no mail with this id, or the mail is no longer retained.',
    remedy: 'Look the id up in the list of mails.',
  },
  'mail-not-resendable': {
    status: 409,
    title: 'Mail cannot be sent again',
    meaning: 'The mail was not attempted yet, its text is deleted, its link has ended, or the user has no address for it.',
    remedy: 'Wait for a pending mail. Otherwise the user can request a new mail.',
  },
  // the shop as a whole
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'The shop has too much to do at the moment. Nothing was changed.',
    remedy: 'Try again after the number of seconds in Retry-After, then with growing pauses.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    meaning: 'A part of the shop cannot be reached or did not respond in time. Nothing was changed.',
    remedy: 'Try again after the number of seconds in Retry-After.',
  },
  'outcome-unknown': {
    status: 503,
    title: 'Outcome unknown',
    meaning: 'The request was forwarded, but the response was lost. It may have taken effect.',
    remedy: 'Repeat it with the same Idempotency-Key. Without a key, check first whether it took effect.',
  },
  'unknown-operation': {
    status: 503,
    title: 'Not available yet',
    meaning: 'A part of the shop runs an older release without this operation. Nothing was changed.',
    remedy: 'Try again later.',
  },
  'malformed-batch': {
    status: 500,
    title: 'Internal error',
    meaning: 'The shop has a defect, which has been logged.',
    remedy: 'Contact the shop with the requestId.',
  },
  internal: {
    status: 500,
    title: 'Internal error',
    meaning: 'The shop has a defect, which has been logged.',
    remedy: 'Contact the shop with the requestId.',
  },
} satisfies Record<PlatformCode | HttpCode, ProblemKind> & Record<string, ProblemKind>;

export type ProblemCode = keyof typeof kinds;

/** Maps every error code to HTTP. */
export const problemTable: Readonly<Record<ProblemCode, ProblemKind>> = kinds;

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(problemTable, code);
