import { CodedError } from '../errors.js';

/**
 * A place between two entries in the logs of all services together, which are ordered by time, the latest first; at the same
 * millisecond by service and then by id, the highest first. Every service finds its own place from it, so that one cursor
 * leads through all.
 */
export interface AuditPosition {
  readonly at: string;
  readonly service: string;
  readonly id: number;
}

/** The entries that come after a place are those with a lower (time, id). */
interface Bounds {
  readonly before: string;
  readonly beforeId: number;
}

const fromTheNewest: Bounds = { before: 'infinity', beforeId: Number.MAX_SAFE_INTEGER };

export const auditCursor = ({ at, service, id }: AuditPosition): string =>
  Buffer.from(JSON.stringify([at, service, id])).toString('base64url');

/** Negative where `one` comes first. */
export function compareAuditPositions(one: AuditPosition, other: AuditPosition): number {
  if (one.at !== other.at) return one.at > other.at ? -1 : 1;
  if (one.service !== other.service) return one.service < other.service ? -1 : 1;
  return other.id - one.id;
}

/** @throws CodedError `invalid-cursor` */
export function boundsOf(service: string, cursor: string | undefined): Bounds {
  if (cursor === undefined) return fromTheNewest;
  const place = placeOf(cursor);
  if (service === place.service) return { before: place.at, beforeId: place.id };
  // Ids begin at 1: of that millisecond nothing is left of a service that comes earlier, and everything of a later one.
  return { before: place.at, beforeId: service < place.service ? 0 : Number.MAX_SAFE_INTEGER };
}

function placeOf(cursor: string): AuditPosition {
  const parsed = parse(Buffer.from(cursor, 'base64url').toString());
  const [at, service, id] = Array.isArray(parsed) && parsed.length === 3 ? (parsed as unknown[]) : [];
  if (typeof at !== 'string' || typeof service !== 'string' || typeof id !== 'number' || !Number.isSafeInteger(id) || !isInstant(at)) {
    throw new CodedError('invalid-cursor', 'The cursor is not one of this list. Begin again without a cursor.');
  }
  return { at, service, id };
}

const isInstant = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) && !Number.isNaN(Date.parse(text));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
