/** Bytes of a file, both ends included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Returns the range of a file that a request asks for (RFC 9110, section 14). `whole` also if the header is malformed, names
 * several ranges, or belongs to another version of the file (`If-Range`).
 */
export function requestedRange(
  { range, 'if-range': ifRange }: { readonly range?: string | undefined; readonly 'if-range'?: unknown },
  { bytes, etag }: { readonly bytes: number; readonly etag: string },
): ByteRange | 'whole' | 'unsatisfiable' {
  // A date in If-Range never matches, since responses have no Last-Modified.
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return 'whole';
  const [, from = '', to = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(range) ?? [];
  if (from === '' && to === '') return 'whole';
  if (from === '') return Number(to) === 0 ? 'unsatisfiable' : { first: Math.max(0, bytes - Number(to)), last: bytes - 1 };
  const first = Number(from);
  const last = to === '' ? bytes - 1 : Number(to);
  if (last < first && to !== '') return 'whole';
  return first >= bytes ? 'unsatisfiable' : { first, last: Math.min(last, bytes - 1) };
}
