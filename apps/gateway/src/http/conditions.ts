import { hash } from 'node:crypto';
import { badHeader } from '@plant-shop/contracts/problem';

// Entity tags are strong (RFC 9110, section 8.8.3): the owning service's version number, and a digest of the body, since viewers see
// different bodies of one version, and a body shows what has its own, such as the owner's name.

export const etagOf = (version: number, body: Uint8Array): string => `"${version}-${hash('sha256', body, 'base64url').slice(0, 16)}"`;

/** A version that no resource has. */
const impossibleVersion = 0;

/**
 * Returns the version that `If-Match` requires, whoever saw it; undefined for any. `*` requires only that the resource exists, which a change
 * requires anyway.
 * @throws HttpError `invalid-input` unless the header is one entity tag: a change applies to one version
 */
export function expectedVersion(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  const tag = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/.exec(ifMatch);
  if (!tag) throw badHeader('If-Match', 'must be one entity tag, as in the ETag header');
  const version = Number(/^([1-9]\d{0,15})(-[\w-]+)?$/.exec(tag[2] ?? '')?.[1] ?? impossibleVersion);
  // If-Match compares strongly, so a weak tag never matches.
  return tag[1] === undefined && Number.isSafeInteger(version) ? version : impossibleVersion;
}

/** Whether the client already has this body (304). Compares weakly (RFC 9110, section 13.1.2). */
export function isNotModified(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
