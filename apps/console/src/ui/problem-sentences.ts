import type { ProblemCode } from '@plant-shop/client';

/** What happened, and what to do. Without the latter, what is known about the effect tells what to do. */
export type Sentences = string | readonly [what: string, todo: string];

export const reload = 'Reload the page. If that does not help, tell an administrator.';
export const later = 'Nothing was changed. Try again in a moment.';
const misunderstood: Sentences = ['The console and the shop do not understand each other.', reload];
const broken = 'Something in the shop is broken. It was logged.';
const gone = 'It may have been deleted. Go back to the list.';

/** Of each code that the API has, for people: its own texts are for those who write programs. */
export const sentences: Readonly<Record<ProblemCode, Sentences>> = {
  'route-not-found': misunderstood,
  'method-not-allowed': misunderstood,
  unauthorized: ['You are not logged in.', 'Nothing was changed. Log in again.'],
  'credential-refused': ['Your session has ended.', 'Nothing was changed. Log in again.'],
  forbidden: ['You may not do this.', 'Nothing was changed. Ask an administrator for another role.'],
  'recent-login-required': ['This needs your password.', 'Repeat it with your password.'],
  'too-many-requests': ['You have asked the shop for too much at once.', 'Wait a minute, then try again.'],
  'too-many-in-flight': ['You have asked the shop for too much at once.', 'Wait for the answers, then try again.'],
  'unsupported-media-type': misunderstood,
  'not-acceptable': misunderstood,
  'expectation-failed': misunderstood,
  'payload-too-large': ['This is more than the shop takes at once.', 'Nothing was changed. Make it smaller, or do it in parts.'],
  'malformed-json': misunderstood,
  'malformed-request': misunderstood,
  'invalid-input': ['Something that you wrote is not accepted.', 'Nothing was changed. Correct it, then try again.'],
  'invalid-cursor': ['The place to go on from is unknown.', 'Reload the page.'],
  'cursor-too-old': ['The shop no longer knows what changed since then.', 'Reload the page.'],
  'uri-too-long': ['What you wrote is too long.', 'Shorten it, then try again.'],
  'range-not-satisfiable': misunderstood,
  'headers-too-large': ['What you wrote is too long.', 'Shorten it, then try again.'],
  'request-timeout': ['The shop waited too long for the rest of the request.', later],
  'precondition-failed': ['Someone else has changed it meanwhile.', 'Check the current version, then decide.'],
  'plant-not-found': ['There is no such plant.', gone],
  'plant-exists': ['Another plant has this number.', 'Choose another number, or none.'],
  'plant-has-pending-orders': ['There are open orders of this plant.', 'Nothing was changed. Deliver or cancel them first.'],
  'image-not-found': ['There is no such image.', gone],
  'image-too-large': ['The image is larger than 10 MiB.', 'Choose a smaller one.'],
  'image-type-refused': ['This file is not a picture that the shop takes.', 'Choose a JPEG, PNG, GIF, WebP or AVIF image.'],
  'upload-not-found': ['The upload took too long.', 'Nothing was changed. Upload the image again.'],
  'too-many-photos': ['The plant has as many images as it can have.', 'Remove one first.'],
  'plant-not-available': ['The plant cannot be ordered at the moment.', 'Make it available first.'],
  'insufficient-stock': ['There are fewer units than that.', 'Nothing was changed. Check the stock.'],
  'order-not-found': ['There is no such order, or you may not see it.', 'Check its number.'],
  'order-exists': ['Another order has this number.', 'Choose another number, or none.'],
  'basket-not-found': ['There is no such basket, or you may not see it.', 'Check its number.'],
  'external-id-exists': ['Something else has this external id.', 'Choose another one.'],
  'order-not-cancellable': ['The order can no longer be cancelled.', 'Nothing was changed. The page shows its current state.'],
  'idempotency-key-reused': misunderstood,
  'order-not-payable': ['The order is cancelled, or was paid before.', 'Return the money: the refund is shown with the order.'],
  'payment-reference-used': ['This reference belongs to the payment of another order.', 'Check the reference.'],
  'refund-not-found': ['There is no such refund.', 'Reload the page.'],
  'refund-completed': ['This refund was completed before, with another reference.', 'Check whether the money was returned twice.'],
  'refund-reference-used': ['This reference completed another refund.', 'Check the reference.'],
  'order-transition-refused': ['The order is no longer in a state that allows this.', 'Nothing was changed. The page shows its current state.'],
  'unpaid-limit': ['The customer has as many unpaid orders as there may be.', 'Wait until some are paid, or cancel them.'],
  'customer-closed': ['The account is being deleted.', 'Choose another one.'],
  'email-not-mailable': ['The user has no address that mail can be sent to.', 'Set the e-mail address first.'],
  'mail-disabled': ['The shop sends no mail.', 'Ask whoever runs the shop for a mail server.'],
  'mail-not-found': ['There is no such mail.', 'Ended mails are kept for 30 days. Reload the list.'],
  'mail-not-resendable': ['This mail cannot be sent again.', 'Its link has ended, or the user no longer wants it. The user can ask for another one.'],
  'too-many-mails': ['So many mails were asked for that no more are sent for a while.', 'Look for those that were sent, or wait an hour.'],
  'factor-not-found': ['There is no such second factor.', 'It may have been removed. Reload the page.'],
  'second-factor-required': ['This account needs its second factor.', 'Nothing was changed. Log in again on the log-in page.'],
  'user-not-found': ['No user is called that.', 'Check the spelling.'],
  'username-taken': ['Another user has this name.', 'Choose another one.'],
  'user-id-taken': ['Another user has this number.', 'Choose another one.'],
  'user-has-open-orders': ['This user has open orders.', 'Nothing was changed. Cancel or transfer them first.'],
  'last-admin': ['This is the only administrator, and the shop needs one.', 'Make another user an administrator first.'],
  'login-failed': ['The name or the password is wrong.', 'Check both.'],
  'too-many-logins': ['Too many logins have failed.', 'Wait a few minutes, then try again.'],
  'api-key-not-found': ['There is no such API key.', 'It may have been revoked. Reload the page.'],
  'too-many-api-keys': ['This user has as many API keys as there may be, or the key is being replaced already.', 'Revoke one first.'],
  'session-not-found': ['This session has ended already.', 'Reload the page.'],
  'oauth-client-not-found': ['There is no such application.', gone],
  'oauth-client-public': ['This application has no secret to replace.', 'Register one that can keep a secret.'],
  'too-many-oauth-clients': ['There are as many applications as there may be.', 'Delete one first.'],
  'webhook-not-found': ['There is no such webhook.', gone],
  'destination-not-found': ['There is no such destination of events.', gone],
  'webhook-disabled': ['Nothing is sent to a webhook that is disabled.', 'Enable it first.'],
  'replay-in-progress': ['The last replay is not finished.', 'Wait until its events were sent.'],
  'too-many-deliveries': ['Too many events wait for this webhook, or for all of yours.', 'Wait until some were sent.'],
  'too-many-webhooks': ['You have as many webhooks as you may have.', 'Delete one first.'],
  'too-many-destinations': ['The shop has as many destinations as it may have.', 'Delete one first.'],
  'delivery-not-found': ['The shop no longer has this delivery.', 'Old ones are deleted. Reload the list.'],
  overloaded: ['The shop has too much to do at the moment.', later],
  unavailable: ['A part of the shop does not answer.', later],
  'outcome-unknown': 'The shop’s answer was lost.',
  'unknown-operation': ['A part of the shop is older than this console.', later],
  'malformed-batch': broken,
  internal: broken,
};

/** For a code that only a newer shop has. */
export function sentencesByStatus(status: number): Sentences {
  if (status === 404) return ['It is not there.', gone];
  if (status >= 500) return broken;
  return status === 409 ? 'The shop refused this.' : misunderstood;
}
