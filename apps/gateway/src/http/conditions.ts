import { badHeader } from '../problems/refusal.js';

// Entity tags are versions (RFC 9110, section 8.8.3): strong, made by the owner's counter and not by hashing bodies.

export const etagOf = (version: number): string => `"${version}"`;

/** No resource ever has it. */
const impossibleVersion = 0;

/**
 * The version that a change expects. `*` asks only that the resource is there, which it must be anyway.
 * @throws Refusal `invalid-input` for what is no entity tag, or more than one: a change is made to one state
 */
export function expectedVersion(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  const tag = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/.exec(ifMatch);
  if (!tag) throw badHeader('If-Match', 'must be one entity tag, as the ETag header gave it');
  const version = /^[1-9]\d{0,15}$/.test(tag[2] ?? '') ? Number(tag[2]) : impossibleVersion;
  // Weak tags never match strongly.
  return tag[1] === undefined && Number.isSafeInteger(version) ? version : impossibleVersion;
}

/** Whether the client has this very state already. Tags are compared weakly here (RFC 9110, section 13.1.2). */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
