import { type ErrorKind, type ProblemCode, ShopError, ShopProblem } from '@plant-shop/client';

/** Text of an error for the user: what happened, and what to do. */
export interface ProblemText {
  readonly what: string;
  readonly todo: string;
  /** Errors of single fields, which forms show at the field. */
  readonly faults: readonly { readonly field: string; readonly detail: string }[];
  /** Id of the request in the shop's logs. */
  readonly requestId?: string;
}

/** What happened, and what to do where this is known better than from the kind of the problem. */
type Sentences = string | readonly [what: string, todo: string];

const reload = 'Reload the page. If that does not help, tell an administrator.';
const later = 'Nothing was changed. Try again in a moment.';
const defect: Sentences = ['The console and the shop do not understand each other.', reload];
const trouble: Sentences = ['Something in the shop is broken. It was logged.', 'Check whether it took effect. Tell an administrator the number of the request.'];
const gone = (what: string): Sentences => [`${what} is not there.`, 'It may have been deleted. Reload the list.'];

/** The API's own texts are for those who write programs. A new code does not compile without a sentence here. */
const sentences: Readonly<Record<ProblemCode, Sentences>> = {
  'route-not-found': defect,
  'method-not-allowed': defect,
  unauthorized: ['You are not logged in.', 'Nothing was changed. Log in again.'],
  'credential-refused': ['Your session has ended.', 'Nothing was changed. Log in again.'],
  forbidden: ['You may not do this.', 'Nothing was changed. Ask an administrator for another role.'],
  'recent-login-required': ['This needs your password.', 'Nothing was changed. Repeat it with your password.'],
  'too-many-requests': ['You have asked the shop for more than it answers in a minute.', 'Nothing was changed. Wait a minute, then try again.'],
  'too-many-in-flight': ['The shop still works on your earlier requests.', later],
  'unsupported-media-type': defect,
  'not-acceptable': defect,
  'expectation-failed': defect,
  'payload-too-large': ['This is more than the shop takes at once.', 'Nothing was changed. Send less at a time.'],
  'malformed-json': defect,
  'malformed-request': defect,
  'invalid-input': ['Something that you wrote is not accepted.', 'Nothing was changed. Correct it, then try again.'],
  'invalid-cursor': ['The cursor does not belong to this list.', 'Begin at the start of the list.'],
  'cursor-too-old': ['This place in the list is too old.', 'Begin at the start of the list.'],
  'uri-too-long': ['This name or number is too long.', 'Shorten it.'],
  'range-not-satisfiable': defect,
  'headers-too-large': ['This search is too long.', 'Use fewer or shorter words.'],
  'request-timeout': ['Sending took too long.', later],
  'precondition-failed': ['Someone else has changed it meanwhile.', 'Check the current version, then decide.'],
  'plant-not-found': gone('The plant'),
  'plant-exists': 'Another plant has this number.',
  'plant-has-pending-orders': ['There are open orders of this plant.', 'Nothing was changed. Delete it once they are delivered or cancelled.'],
  'image-not-found': gone('The image'),
  'image-too-large': ['The image is larger than 10 MiB.', 'Choose a smaller one.'],
  'image-type-refused': ['This file is not a picture that the shop takes.', 'Choose a JPEG, PNG, GIF, WebP or AVIF image.'],
  'upload-not-found': ['The upload took too long.', 'Nothing was stored. Upload the image again.'],
  'too-many-photos': ['The plant has as many images as it can have.', 'Remove one first.'],
  'plant-not-available': ['The plant is not offered at present.', 'Set its status to available first.'],
  'insufficient-stock': 'There are not enough units in stock.',
  'order-not-found': gone('The order'),
  'order-exists': 'Another order has this number.',
  'basket-not-found': gone('The basket'),
  'external-id-exists': 'Another one has this external id.',
  'order-not-cancellable': 'The order can no longer be cancelled.',
  'idempotency-key-reused': defect,
  'order-not-payable': ['The order is cancelled, or was paid before.', 'Return the money: the refund is shown with the order.'],
  'payment-reference-used': ['This reference belongs to the payment of another order.', 'Nothing was changed. Check the reference.'],
  'refund-not-found': gone('The refund'),
  'refund-completed': ['The refund was completed before, with another reference.', 'Check whether the money was returned twice.'],
  'refund-reference-used': ['This reference completed another refund.', 'Nothing was changed. Check the reference.'],
  'order-transition-refused': ['The order is no longer in a state that allows this.', 'Nothing was changed. The page shows its current state.'],
  'unpaid-limit': 'This customer has too many unpaid orders.',
  'customer-closed': 'This account is being deleted and takes no orders.',
  'user-not-found': ['No user is called that.', 'Check the spelling. The user may have been renamed or deleted.'],
  'username-taken': ['Another user has this name.', 'Choose another one.'],
  'user-id-taken': 'Another user has this number.',
  'user-has-open-orders': ['This user has open orders.', 'Nothing was changed. Cancel or transfer them first, or wait until they are delivered.'],
  'last-admin': ['This is the only administrator, and the shop needs one.', 'Make another user an administrator first.'],
  'login-failed': ['The username or password is wrong.', 'Check both.'],
  'too-many-logins': ['Too many logins failed.', 'Wait a few minutes, then try again.'],
  'api-key-not-found': gone('The API key'),
  'too-many-api-keys': ['This user has as many API keys as there may be, or this one is being replaced already.', 'Revoke one first.'],
  'session-not-found': ['The session is not there.', 'It may have ended. Reload the list.'],
  'oauth-client-not-found': gone('The client'),
  'oauth-client-public': 'This client has no secret that could be replaced.',
  'too-many-oauth-clients': ['There are as many clients as there may be.', 'Delete one first.'],
  'webhook-not-found': gone('The webhook'),
  'webhook-disabled': ['Nothing is sent to a webhook that is disabled.', 'Enable it first.'],
  'replay-in-progress': ['The last replay is not finished.', 'Wait until its events were sent, then try again.'],
  'too-many-deliveries': ['Too many events wait for this webhook, or for all of yours.', 'Wait until some were sent, then try again.'],
  'too-many-webhooks': ['You have as many webhooks as you may have.', 'Delete one first.'],
  'delivery-not-found': gone('The delivery'),
  overloaded: ['The shop has too much to do at the moment.', later],
  unavailable: ['A part of the shop does not answer.', later],
  'outcome-unknown': 'The shop’s answer was lost.',
  'unknown-operation': ['The shop cannot do this yet: a part of it is being updated.', 'Nothing was changed. Try again later.'],
  'malformed-batch': trouble,
  internal: trouble,
};

const failures: Partial<Readonly<Record<ErrorKind, string>>> = {
  unreachable: 'The shop cannot be reached.',
  deadline: 'The shop did not answer in time.',
  'not-the-shop': 'Something other than the shop answered.',
  'invalid-json': 'The shop’s answer was incomplete.',
  credential: 'You are not logged in any more.',
};

export function problemText(error: unknown): ProblemText {
  if (error instanceof ShopProblem) {
    // A newer shop may have other codes.
    const found = (sentences as Readonly<Record<string, Sentences | undefined>>)[error.code as string];
    const [what, todo] = typeof found === 'object' ? found : [found ?? 'The shop refused this.', todoOf(error)];
    return {
      what,
      todo,
      faults: error.errors.map(({ pointer, parameter, header, detail }) => ({ field: fieldOf(pointer ?? parameter ?? header), detail })),
      requestId: error.requestId,
    };
  }
  if (error instanceof ShopError) return { what: failures[error.kind] ?? 'The shop’s answer is not understood.', todo: todoOf(error), faults: [] };
  return { what: error instanceof Error ? error.message : 'An unexpected error occurred.', todo: reload, faults: [] };
}

function todoOf({ outcome }: ShopError): string {
  if (outcome === 'refused') return 'Nothing was changed. Correct what is wrong, then try again.';
  if (outcome === 'not-done') return later;
  return 'It may have taken effect. Check before you try again.';
}

/** `/order/quantity` → `quantity`. */
const fieldOf = (pointer = ''): string => pointer.split('/').at(-1) ?? pointer;

/** `trackingNumber` → `Tracking number`. */
export const inWords = (field: string): string => field.replace(/^./, (letter) => letter.toUpperCase()).replace(/[A-Z](?=[a-z])/g, (letter, at: number) => (at === 0 ? letter : ` ${letter.toLowerCase()}`));

/** Returns the error of a form's field, if it has one. */
export const faultOf = (error: unknown, field: string): string | undefined => problemText(error).faults.find((one) => one.field === field)?.detail;
