import { CodedError } from '../errors.js';

/**
 * A position in the merged audit logs of all services. Entries are ordered by time, newest first; within a millisecond by service, then
 * by id, highest first. Every service derives the bounds of its own page from it, so that one cursor pages through all logs.
 */
export interface AuditPosition {
  readonly at: string;
  readonly service: string;
  readonly id: number;
}

/** The entries after a position are those with a lower (time, id). */
interface Bounds {
  readonly before: string;
  readonly beforeId: number;
}

const fromNewest: Bounds = { before: 'infinity', beforeId: Number.MAX_SAFE_INTEGER };

export const auditCursor = ({ at, service, id }: AuditPosition): string =>
  Buffer.from(JSON.stringify([at, service, id])).toString('base64url');

/** Returns a negative number if `one` comes before `other`. */
export function compareAuditPositions(one: AuditPosition, other: AuditPosition): number {
  if (one.at !== other.at) return one.at > other.at ? -1 : 1;
  if (one.service !== other.service) return one.service < other.service ? -1 : 1;
  return other.id - one.id;
}

/**
 * Returns the bounds of a service's next page.
 * @throws CodedError `invalid-cursor`
 */
export function boundsOf(service: string, cursor: string | undefined): Bounds {
  if (cursor === undefined) return fromNewest;
  const position = positionIn(cursor);
  if (service === position.service) return { before: position.at, beforeId: position.id };
  // Within the cursor's millisecond, the entries of earlier services were all read, and those of later services are all still to
  // come. Ids start at 1.
  return { before: position.at, beforeId: service < position.service ? 0 : Number.MAX_SAFE_INTEGER };
}

function positionIn(cursor: string): AuditPosition {
  const parsed = parse(Buffer.from(cursor, 'base64url').toString());
  const [at, service, id] = Array.isArray(parsed) && parsed.length === 3 ? (parsed as unknown[]) : [];
  if (typeof at !== 'string' || typeof service !== 'string' || typeof id !== 'number' || !Number.isSafeInteger(id) || !isInstant(at)) {
    throw new CodedError('invalid-cursor', 'The cursor does not belong to this list. Start again without a cursor.');
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
