import type { AuditEntry } from './people-reads.js';

/** What the audit log's operations do, in words. */
export const audited: Readonly<Record<string, string>> = {
  'identity.requestRecovery': 'Asked for a link to a new password',
  'identity.sendEmailVerification': 'Sent the mail that verifies an address',
  'identity.verifyEmail': 'Verified the e-mail address',
  'identity.recoverAccount': 'Set a new password by a link',
  'identity.addFactor': 'Added a second factor',
  'identity.removeFactor': 'Removed a second factor',
  'identity.askForFactorRemoval': 'Asked another administrator to remove a second factor',
  'identity.replaceRecoveryCodes': 'Made new recovery codes',
  'identity.lockPasskey': 'Locked a passkey that was copied',
  'notifications.resendMail': 'Sent a mail again',
  'notifications.createDestination': 'Added a destination',
  'notifications.replaceDestination': 'Changed a destination',
  'notifications.deleteDestination': 'Deleted a destination',
  'notifications.replayDestination': 'Published past events again',
  'catalog.beginExport': 'Exported the plants',
  'catalog.beginImage': 'Began to add an image to a plant',
  'catalog.changePlant': 'Changed a plant',
  'catalog.createPlant': 'Added a plant',
  'catalog.deletePlant': 'Deleted a plant',
  'catalog.finishImage': 'Sent a picture for a plant',
  'catalog.importPlants': 'Imported a plant',
  'catalog.patchPlant': 'Changed fields of a plant',
  'catalog.reconcilePlants': 'Repaired a plant after a restoration',
  'catalog.replacePlant': 'Replaced a plant',
  'identity.advanceClock': 'Moved the clock of the sandbox',
  'identity.createApiKey': 'Created an API key',
  'identity.createOAuthClient': 'Registered an OAuth client',
  'identity.createUser': 'Added a user',
  'identity.createUsers': 'Added users',
  'identity.deleteOAuthClient': 'Deleted an OAuth client',
  'identity.deleteUser': 'Deleted a user',
  'identity.downloadOwnData': 'Downloaded their own data',
  'identity.endGrant': 'Ended the access of an application',
  'identity.endSession': 'Ended a session of somebody',
  'identity.endSessions': 'Ended all sessions of somebody',
  'identity.login': 'Logged in',
  'identity.logout': 'Logged out',
  'identity.patchUser': 'Changed fields of a user',
  'identity.reconcileUsers': 'Repaired a user after a restoration',
  'identity.revoke-signing-key': 'Revoked a signing key',
  'identity.revokeApiKey': 'Revoked an API key of somebody',
  'identity.rotate-signing-key': 'Replaced the signing key',
  'identity.rotateApiKey': 'Replaced an API key of somebody',
  'identity.rotateOAuthClientSecret': 'Replaced the secret of an OAuth client',
  'identity.setUserRole': 'Changed a role',
  'identity.updateUser': 'Replaced a user',
  'store.addOrderNote': 'Wrote a note on an order',
  'store.adjustStock': 'Adjusted the stock',
  'store.advanceClock': 'Moved the clock of the sandbox',
  'store.cancelBasket': 'Cancelled a basket of somebody',
  'store.cancelOrder': 'Cancelled an order of somebody',
  'store.cancelOrderByStaff': 'Cancelled a paid order',
  'store.completeRefund': 'Completed a refund',
  'store.deliverOrder': 'Reported a delivery',
  'store.placeBasket': 'Placed a basket',
  'store.placeOrder': 'Placed an order',
  'store.reconcileOrders': 'Repaired an order after a restoration',
  'store.reportBasketPayment': 'Reported a payment of a basket',
  'store.reportPayment': 'Reported a payment',
  'store.resetSandbox': 'Emptied the sandbox',
  'store.sendTestEvent': 'Sent a test event',
  'store.setStock': 'Set the stock',
  'store.shipOrder': 'Reported a shipment',
  'store.transferOrder': 'Transferred an order',
};

/** `store.setStock` → "Set the stock"; "repot a plant" for one that only a newer shop knows: `catalog.repotAPlant`. */
export const wordsOf = (operation: string): string => audited[operation] ?? (operation.split('.').at(-1) ?? operation).replace(/[A-Z-]/g, (letter) => ` ${letter.replace('-', '').toLowerCase()}`);

/** What kind of thing `target` names. Without an entry: an operation's own words, or a user. */
const kinds: Readonly<Record<string, 'order' | 'basket' | 'refund' | 'plant' | 'application' | 'destination'>> = {
  'store.addOrderNote': 'order',
  'store.cancelOrder': 'order',
  'store.cancelOrderByStaff': 'order',
  'store.deliverOrder': 'order',
  'store.reportPayment': 'order',
  'store.shipOrder': 'order',
  'store.transferOrder': 'order',
  'store.cancelBasket': 'basket',
  'store.reportBasketPayment': 'basket',
  'store.completeRefund': 'refund',
  'store.adjustStock': 'plant',
  'store.setStock': 'plant',
  'notifications.createDestination': 'destination',
  'notifications.replaceDestination': 'destination',
  'notifications.deleteDestination': 'destination',
  'notifications.replayDestination': 'destination',
  'identity.createOAuthClient': 'application',
  'identity.deleteOAuthClient': 'application',
  'identity.rotateOAuthClientSecret': 'application',
};

/** What an entry changed, for people. */
interface AuditTarget {
  readonly text: string;
  /** The path of its page, if it has one. */
  readonly path?: string;
  /** The value before and after, where the shop recorded them. */
  readonly change?: string;
}

/** @param applications names of OAuth clients by id */
export function targetOf({ operation, target, targetUsername }: Pick<AuditEntry, 'operation' | 'target' | 'targetUsername'>, applications: ReadonlyMap<string, string>): AuditTarget {
  const kind = operation.startsWith('catalog.') ? 'plant' : kinds[operation];
  const [number = ''] = /^\d+/.exec(target) ?? [];
  // `<id>: 5 to 7, low at 10 to 3`
  const [, changed] = /^[\w-]+: (.+ to .+)$/.exec(target) ?? [];
  const change = changed !== undefined && { change: changed.replaceAll(' to ', ' → ') };
  if (kind === 'application') return { text: applications.get(target) ?? 'an application that was deleted' };
  if (kind === 'destination') return { text: `destination ${target}`, path: `/destinations/${target}` };
  if (kind === 'refund') return { text: `refund ${number}` };
  // A basket has the number of its first order.
  if (kind !== undefined) return { text: `${kind} ${number}`, path: kind === 'plant' ? `/plants/${number}` : `/orders/${number}`, ...change };
  if (/^[\da-f]{8}-[\da-f-]{27}/.test(target)) {
    return {
      text: targetUsername ?? 'a deleted user',
      ...(targetUsername !== undefined && { path: `/people/${encodeURIComponent(targetUsername)}` }),
      ...change,
    };
  }
  return { text: target };
}

const credentialKinds: Readonly<Record<string, string>> = { session: 'a session', apiKey: 'an API key', accessToken: 'an application', accountPage: 'their account page', mailLink: 'a link in a mail' };

/** Names the credential that permitted it. @param applications names of OAuth clients by id */
export const credentialText = ({ kind, id }: { readonly kind: string; readonly id?: string }, applications: ReadonlyMap<string, string>): string =>
  (kind === 'accessToken' && applications.get(id ?? '')) || (credentialKinds[kind] ?? kind);

/** Names who did it. */
export const actorText = ({ subject, username }: Pick<AuditEntry, 'subject' | 'username'>): string => username ?? (subject === undefined ? 'an operator' : 'a deleted user');
