import { DomainError } from '@plant-shop/contracts/errors';
import { defaultEventType } from '@plant-shop/contracts/events';
import type { Destination, NewDestination } from '@plant-shop/contracts/notifications';
import type { Principal } from '@plant-shop/platform/rpc/context';
import type { DestinationInput, DestinationState } from './destinations.repository.js';

/** Each costs a connection, and a reader of the log. */
const maxDestinations = 20;

/** The purpose of the encryption of credentials. */
export const credentialsPurpose = (id: string): string => `credentials of destination ${id}`;

/** Applies defaults: those of webhooks, the subject, and the rate. */
export const toInput = ({ name, url, stream, subject = 'shop.events', eventTypes = [defaultEventType], plantId, newStatuses, perSecond = 50_000 }: NewDestination): DestinationInput => ({
  ...{ name, url, stream, subject, eventTypes, perSecond },
  plantId: plantId ?? null,
  newStatuses: newStatuses ?? null,
});

export const toDestination = ({ heldReason, heldDetail, heldSince, replaySince, replayUntil, ...row }: DestinationState): Destination => ({
  id: row.id,
  name: row.name,
  url: row.url,
  stream: row.stream,
  subject: row.subject,
  hasCredentials: row.encrypted !== null,
  eventTypes: row.eventTypes,
  ...(row.plantId !== null && { plantId: row.plantId }),
  ...(row.newStatuses !== null && { newStatuses: row.newStatuses }),
  perSecond: row.perSecond,
  state: row.state,
  connected: row.reached === row.version && heldReason === null,
  behindEvents: row.behindEvents,
  behindSeconds: row.behindSeconds,
  ...(heldReason && heldSince && { held: { reason: heldReason, detail: heldDetail ?? '', since: heldSince.toISOString() } }),
  ...(replaySince && replayUntil && { replay: { since: replaySince.toISOString(), until: replayUntil.toISOString() } }),
  createdAt: row.createdAt.toISOString(),
});

/** Throws `forbidden` without the permission `write:users`. */
export function assertMayUseDestinations({ permissions }: Principal): void {
  if (!permissions.includes('write:users')) throw new DomainError('forbidden', 'Destinations need the permission write:users.');
}

/** Throws `forbidden` if the principal may not read the orders that it has published. */
export function assertMayPublish({ permissions }: Principal): void {
  if (!permissions.includes('read:orders')) throw new DomainError('forbidden', 'A destination gets the events of all orders: it needs the permission read:orders.');
}

/** Throws `too-many-destinations` at the limit of the shop. */
export function assertRoomForOneMore(count: number): void {
  if (count >= maxDestinations) throw new DomainError('too-many-destinations', `Delete a destination first: there are at most ${maxDestinations}.`);
}

/** Throws `destination-not-found` if there is no destination. */
export function existingDestination<Row>(destination: Row | undefined): Row {
  if (!destination) throw new DomainError('destination-not-found', 'There is no such destination, or it has been deleted.');
  return destination;
}

/** Throws `precondition-failed` if the destination has another version. */
export function assertVersion({ version }: { readonly version: number }, ifVersion: number | undefined): void {
  if (ifVersion === undefined || ifVersion === version) return;
  throw new DomainError('precondition-failed', `The destination is now at version ${version}. Read it again.`);
}
