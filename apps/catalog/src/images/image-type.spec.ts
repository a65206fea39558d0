import { describe, expect, it } from '@jest/globals';
import { opaque, recognise } from './image-type.js';

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));

const utf16 = (text: string, order: 'le' | 'be', mark: boolean): Uint8Array => {
  const little = Buffer.from(`${mark ? '\ufeff' : ''}${text}`, 'utf16le');
  return order === 'le' ? little : little.swap16();
};

const ftyp = (...brands: string[]): Uint8Array =>
  bytes([0, 0, 0, 8 + brands.length * 4], 'ftyp', ...brands, 'mdat and so on');

describe('recognising content by its first bytes', () => {
  it.each([
    ['image/jpeg', bytes([0xff, 0xd8, 0xff, 0xe0], 'JFIF')],
    ['image/png', bytes([0x89], 'PNG\r\n', [0x1a], '\n', 'IHDR')],
    ['image/gif', bytes('GIF87a....')],
    ['image/gif', bytes('GIF89a....')],
    ['image/webp', bytes('RIFF', [1, 2, 3, 4], 'WEBPVP8 ')],
    ['image/avif', ftyp('avif', '\0\0\0\0', 'mif1')],
    ['image/avif', ftyp('avis', '\0\0\0\0')],
    ['image/avif', ftyp('mif1', '\0\0\0\0', 'miaf', 'avif')],
  ])('a picture of %s is served with its type', (contentType, content) => {
    expect(recognise(content)).toEqual({ contentType, disposition: 'inline' });
  });

  it.each([
    ['nothing at all', bytes()],
    ['text', bytes('a < b, and <3')],
    ['a PDF', bytes('%PDF-1.7')],
    ['a ZIP', bytes('PK', [3, 4, 20, 0], 'docProps/app.xml')],
    ['a photograph of an unsupported type with XML in its metadata', bytes('II*', [0, 8, 1, 2], '<?xml version="1.0"?>')],
    ['a video in the container of AVIF', ftyp('isom', 'avif', 'mp42')],
    ['a picture that is truncated within its signature', bytes([0x89], 'PN')],
    ['a RIFF file other than WebP', bytes('RIFF', [1, 2, 3, 4], 'WAVEfmt ')],
    ['an ftyp box that exceeds the content', bytes([0xff, 0xff, 0xff, 0xff], 'ftypisom')],
    ['white space only', bytes(' \n\t ')],
  ])('%s is a download', (_, content) => {
    expect(recognise(content)).toEqual(opaque);
  });

  const documents = [
    '<!DOCTYPE html><p>',
    '<html>',
    '<HTML><script>alert(1)</script>',
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    '<sVg/onload=alert(1)>',
    '<?xml version="1.0"?><svg/>',
    '<?xml-stylesheet href="x"?>',
    '<!-- a comment --><svg/>',
    '<!ENTITY x "y">',
    '<img src=x onerror=alert(1)>',
    '<a:b xmlns:a="http://www.w3.org/2000/svg"/>',
    '</p><script>',
    ' \t\r\n\f <body>',
  ];
  it.each(documents)('%j is refused in every encoding that a browser might guess', (text) => {
    const variants = {
      plain: bytes(text),
      'with a mark': bytes([0xef, 0xbb, 0xbf], text),
      'behind white space and a mark': bytes(' \n', [0xef, 0xbb, 0xbf], text),
      'behind control characters': bytes([0, 1, 2, 0x0b, 0x1b, 0x7f], text),
      'UTF-16 LE with a mark': utf16(text, 'le', true),
      'UTF-16 BE with a mark': utf16(text, 'be', true),
      'UTF-16 LE without': utf16(text, 'le', false),
      'UTF-16 BE without': utf16(text, 'be', false),
      'behind 100 KiB of white space': bytes(' '.repeat(100 * 1024), text),
    };
    for (const [name, content] of Object.entries(variants)) {
      expect({ name, recognised: recognise(content) }).toEqual({ name, recognised: 'markup' });
    }
  });

  it.each(['hello <script>alert(1)</script>', 'x\n<SVG onload=1>', '"><iframe src=x>', 'text, then <!doctype html>'])(
    'text with a tag of an active document further in is refused: %j',
    (text) => expect(recognise(bytes(text))).toBe('markup'),
  );

  it('a picture with hidden markup is still served only as a picture', () => {
    expect(recognise(bytes('GIF89a=1;/*<script>alert(1)</script>*/'))).toMatchObject({ contentType: 'image/gif' });
  });
});
