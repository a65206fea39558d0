/** How content is served: recognised pictures inline, everything else as a download that browsers do not interpret. */
export interface ImageType {
  readonly contentType: string;
  readonly disposition: 'inline' | 'attachment';
}

export const opaque: ImageType = { contentType: 'application/octet-stream', disposition: 'attachment' };

const ascii = (bytes: Uint8Array, from: number, to: number): string => Buffer.from(bytes.subarray(from, to)).toString('latin1');

const startsWith =
  (...magic: readonly number[]) =>
  (bytes: Uint8Array): boolean =>
    magic.every((byte, n) => bytes[n] === byte);

/** Recognises AVIF, an ISO base media file: the `ftyp` box has an AVIF brand as its major or a compatible brand. */
function isAvif(bytes: Uint8Array): boolean {
  if (bytes.length < 16 || ascii(bytes, 4, 8) !== 'ftyp') return false;
  const boxEnd = Math.min(Buffer.from(bytes.subarray(0, 4)).readUInt32BE(), bytes.length, 256);
  // Skips the minor version at offset 12, which is not a brand.
  for (let at = 8; at + 4 <= boxEnd; at += at === 8 ? 8 : 4) {
    if (['avif', 'avis'].includes(ascii(bytes, at, at + 4))) return true;
  }
  return false;
}

const pictures: readonly { readonly contentType: string; readonly matches: (bytes: Uint8Array) => boolean }[] = [
  { contentType: 'image/jpeg', matches: startsWith(0xff, 0xd8, 0xff) },
  { contentType: 'image/png', matches: startsWith(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a) },
  { contentType: 'image/gif', matches: (bytes) => /^GIF8[79]a$/.test(ascii(bytes, 0, 6)) },
  { contentType: 'image/webp', matches: (bytes) => ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 12) === 'WEBP' },
  { contentType: 'image/avif', matches: isAvif },
];

/**
 * Recognises content by its first bytes, never by a type or name that the client sends: a picture, opaque content, or `markup`
 * (HTML, SVG, XML), which is refused because a browser might run it.
 */
export function recognise(beginning: Uint8Array): ImageType | 'markup' {
  const picture = pictures.find(({ matches }) => matches(beginning));
  if (picture) return { contentType: picture.contentType, disposition: 'inline' };
  return looksLikeMarkup(beginning) ? 'markup' : opaque;
}

const textBytes = 4_096;
const marks = [0xef, 0xbb, 0xbf, 0xfe, 0xff];
const whiteSpace = [0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20];

const isControl = (byte: number): boolean => (byte < 0x20 || byte === 0x7f) && !whiteSpace.includes(byte);
const isBlank = (byte: number): boolean => isControl(byte) || whiteSpace.includes(byte) || marks.includes(byte);

/**
 * Returns true for `<` followed by a letter, `!`, `?` or `/`, after any byte order mark, white space and control characters; and for
 * text that contains a tag of an active document further in. Removes NULs first, so that UTF-16 of either byte order reads like
 * ASCII, with or without a mark.
 */
function looksLikeMarkup(beginning: Uint8Array): boolean {
  const bytes = beginning.filter((byte) => byte !== 0);
  const first = bytes.findIndex((byte) => !isBlank(byte));
  if (first === -1) return false;
  if (/^<[a-z!?/]/i.test(ascii(bytes, first, first + 2))) return true;
  // Only in text: binary formats may contain XML, such as a photograph's metadata, and no browser takes them for a document.
  const start = bytes.subarray(0, textBytes);
  return !start.some(isControl) && /<(!doctype|html|head|body|svg|script|iframe|\?xml)\b/i.test(ascii(start, 0, textBytes));
}
