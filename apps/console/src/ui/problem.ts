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

/** The API's own texts are for those who write programs. Codes that are not here are told by their status. */
const sentences: Partial<Readonly<Record<ProblemCode, Sentences>>> = {
  'credential-refused': ['Your session has ended.', 'Nothing was changed. Log in again.'],
  forbidden: ['You may not do this.', 'Ask an administrator for another role.'],
  'recent-login-required': ['This needs your password.', 'Repeat it with your password.'],
  'too-many-requests': ['You have asked the shop for too much at once.', 'Wait a minute, then try again.'],
  'invalid-input': ['Something that you wrote is not accepted.', 'Nothing was changed. Correct it, then try again.'],
  'precondition-failed': ['Someone else has changed it meanwhile.', 'Check the current version, then decide.'],
  'plant-has-pending-orders': ['There are open orders of this plant.', 'Nothing was changed. Deliver or cancel them first.'],
  'image-too-large': ['The image is larger than 10 MiB.', 'Choose a smaller one.'],
  'image-type-refused': ['This file is not a picture that the shop takes.', 'Choose a JPEG, PNG, GIF, WebP or AVIF image.'],
  'too-many-photos': ['The plant has as many images as it can have.', 'Remove one first.'],
  'order-not-payable': ['The order is cancelled, or was paid before.', 'Return the money: the refund is shown with the order.'],
  'payment-reference-used': ['This reference belongs to the payment of another order.', 'Check the reference.'],
  'refund-reference-used': ['This reference completed another refund.', 'Check the reference.'],
  'order-transition-refused': ['The order is no longer in a state that allows this.', 'Nothing was changed. The page shows its current state.'],
  'user-not-found': ['No user is called that.', 'Check the spelling.'],
  'username-taken': ['Another user has this name.', 'Choose another one.'],
  'user-has-open-orders': ['This user has open orders.', 'Nothing was changed. Cancel or transfer them first.'],
  'last-admin': ['This is the only administrator, and the shop needs one.', 'Make another user an administrator first.'],
  'too-many-api-keys': ['This user has as many API keys as there may be.', 'Revoke one first.'],
  'webhook-disabled': ['Nothing is sent to a webhook that is disabled.', 'Enable it first.'],
  'replay-in-progress': ['The last replay is not finished.', 'Wait until its events were sent.'],
  'too-many-deliveries': ['Too many events wait for this webhook, or for all of yours.', 'Wait until some were sent.'],
  'too-many-webhooks': ['You have as many webhooks as you may have.', 'Delete one first.'],
  overloaded: ['The shop has too much to do at the moment.', later],
  unavailable: ['A part of the shop does not answer.', later],
};

const failures: Partial<Readonly<Record<ErrorKind, string>>> = {
  unreachable: 'The shop cannot be reached.',
  deadline: 'The shop did not answer in time.',
  'not-the-shop': 'Something other than the shop answered.',
  credential: 'You are not logged in any more.',
};

export function problemText(error: unknown): ProblemText {
  if (error instanceof ShopProblem) {
    const found = (sentences as Readonly<Record<string, Sentences | undefined>>)[error.code as string] ?? byStatus(error.status);
    const [what, todo] = typeof found === 'object' ? found : [found, todoOf(error)];
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

function byStatus(status: number): Sentences {
  if (status === 404) return ['It is not there.', 'It may have been deleted. Reload the list.'];
  if (status >= 500) return 'Something in the shop is broken. It was logged.';
  return status === 409 ? 'The shop refused this.' : ['The console and the shop do not understand each other.', reload];
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
