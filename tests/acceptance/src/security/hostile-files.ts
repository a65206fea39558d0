import { deflateSync, gzipSync } from 'node:zlib';

export interface HostileFile {
  readonly name: string;
  readonly content: Buffer;
  /** Value for the header of the multipart part. */
  readonly filename?: string;
  readonly contentType?: string;
  /** A browser that sniffs content would execute the file, so it must not even be stored. */
  readonly active?: true;
  /** What remains without metadata and what follows the picture. Absent: all of it. */
  readonly served?: Buffer;
}

const bytes = (...parts: (string | readonly number[] | Buffer)[]): Buffer => Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));
const utf16 = (text: string, order: 'le' | 'be'): Buffer => (order === 'le' ? Buffer.from(text, 'utf16le') : Buffer.from(text, 'utf16le').swap16());

const script = '<script>alert(document.domain)</script>';
const html = `<html><body>${script}</body></html>`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`;
const pngMagic = bytes([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const jpegMagic = bytes([0xff, 0xd8, 0xff, 0xe0, 0, 0x10], 'JFIF\0');
const webpMagic = bytes('RIFF', [0x24, 0, 0, 0], 'WEBPVP8 ');
const avifMagic = bytes([0, 0, 0, 0x18], 'ftypavif', [0, 0, 0, 0], 'avifmif1');

/** Without CRCs: the tests must not depend on a decoder accepting the file. */
const chunk = (type: string, data: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return bytes(length, type, data, [0, 0, 0, 0]);
};
const pngOf = (width: number, height: number, data: Buffer): Buffer => {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  return bytes(pngMagic, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0)));
};

const active = (name: string, content: Buffer | string, more: Partial<HostileFile> = {}): HostileFile => ({ name, content: typeof content === 'string' ? Buffer.from(content) : content, active: true, ...more });
const inert = (name: string, content: Buffer | string, more: Partial<HostileFile> = {}): HostileFile => ({ name, content: typeof content === 'string' ? Buffer.from(content, 'latin1') : content, ...more });

/** Files of an attacker who wants code to run in other users' browsers or on the server, or to write to its disk. */
export const hostileFiles: readonly HostileFile[] = [
  // active documents, honestly declared or disguised as images
  active('HTML', html),
  active('HTML as PNG', html, { filename: 'a.png', contentType: 'image/png' }),
  active('HTML as JPEG', html, { filename: 'a.jpg', contentType: 'image/jpeg' }),
  active('HTML as application/octet-stream', html, { filename: 'a.bin', contentType: 'application/octet-stream' }),
  active('HTML without the html tag', `<body onload=alert(1)>`),
  active('a script alone', script),
  active('a script in capitals', script.toUpperCase()),
  active('a doctype', '<!DOCTYPE html><p>'),
  active('a comment first', `<!-- -->${html}`),
  active('white space first', ` \t\r\n\f${html}`),
  active('a byte order mark first', bytes([0xef, 0xbb, 0xbf], html)),
  active('NUL first', bytes([0, 0, 0], html)),
  active('control characters first', bytes([1, 2, 3, 0x1f], html)),
  active('UTF-16, little-endian', bytes([0xff, 0xfe], utf16(html, 'le'))),
  active('UTF-16, big-endian', bytes([0xfe, 0xff], utf16(html, 'be'))),
  active('UTF-16 without a byte order mark', utf16(html, 'le')),
  active('NUL between the letters of a tag', `<\0h\0t\0m\0l>${script}`),
  active('text before HTML', `Dear customer, ${html}`),
  active('an image with an error handler', `<img src=x onerror=alert(1)>`),
  active('a frame', '<iframe srcdoc="<script>alert(1)</script>">'),
  active('SVG', svg),
  active('SVG as PNG', svg, { filename: 'a.png', contentType: 'image/png' }),
  active('SVG with a prologue', `<?xml version="1.0"?>${svg}`),
  active('SVG that reads a file', `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>`),
  active('SVG with a billion laughs attack', `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><svg>&b;</svg>`),
  active('XML with a style', '<?xml-stylesheet href="javascript:alert(1)"?><x/>'),
  active('XHTML', '<html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>'),
  active('MathML', '<math><a xlink:href="javascript:alert(1)">x</a></math>'),
  active('XSLT', '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>'),

  // images that are valid in another format too
  inert('GIF that is JavaScript', 'GIF89a/*\0\0\0\0*/=1;alert(1);//'),
  inert('GIF followed by HTML', bytes('GIF89a', [1, 0, 1, 0, 0, 0, 0, 0x3b], html)),
  inert('PNG with HTML in a comment', bytes(pngMagic, chunk('tEXt', Buffer.from(`Comment\0${html}`))), { served: pngMagic }),
  inert('JPEG with HTML in its metadata', bytes(jpegMagic, [0xff, 0xfe, 0, 0x60], html)),
  inert('JPEG with PHP in its metadata', bytes(jpegMagic, [0xff, 0xfe, 0, 0x30], '<?php system($_GET["c"]); ?>')),
  inert('WebP followed by SVG', bytes(webpMagic, svg), { served: bytes(webpMagic, svg).subarray(0, 8 + 0x24) }),
  inert('AVIF followed by HTML', bytes(avifMagic, html)),
  inert('PNG followed by a ZIP', bytes(pngMagic, chunk('IEND', Buffer.alloc(0)), 'PK\x05\x06', Buffer.alloc(18)), { served: bytes(pngMagic, chunk('IEND', Buffer.alloc(0))) }),
  inert('JPEG that is a JAR', bytes(jpegMagic, 'PK\x03\x04META-INF/MANIFEST.MF')),
  inert('only the signature of a PNG', pngMagic),
  inert('PNG declared as HTML', pngOf(1, 1, deflateSync(Buffer.alloc(4))), { filename: 'a.html', contentType: 'text/html' }),
  inert('PNG declared as SVG', pngOf(1, 1, deflateSync(Buffer.alloc(4))), { filename: 'a.svg', contentType: 'image/svg+xml' }),

  // decompression bombs
  inert('PNG of 65,535 × 65,535', pngOf(65_535, 65_535, deflateSync(Buffer.alloc(1_000)))),
  inert('PNG of 2^31 × 2^31', pngOf(0x7fffffff, 0x7fffffff, Buffer.alloc(10))),
  inert('PNG that unpacks to 50 MB', pngOf(5_000, 3_333, deflateSync(Buffer.alloc(50_000_000)))),
  inert('PNG of 0 × 0', pngOf(0, 0, Buffer.alloc(0))),
  inert('GIF with thousands of frames', bytes('GIF89a', [0xff, 0xff, 0xff, 0xff, 0, 0, 0], Buffer.alloc(5_000, 0x2c))),
  inert('gzip that unpacks to 50 MB', gzipSync(Buffer.alloc(50_000_000)), { filename: 'a.svgz', contentType: 'image/svg+xml' }),
  inert('compressed SVG', gzipSync(svg), { filename: 'a.svgz', contentType: 'image/svg+xml' }),

  // programs and documents
  inert('a program for Windows', bytes('MZ', Buffer.alloc(100))),
  inert('a program for Linux', bytes([0x7f], 'ELF', Buffer.alloc(100))),
  inert('a shell script', '#!/bin/sh\nid\n', { filename: 'a.sh' }),
  inert('JavaScript', 'alert(document.domain)', { filename: 'a.js', contentType: 'text/javascript' }),
  inert('CSS', 'body{background:url(javascript:alert(1))}', { filename: 'a.css', contentType: 'text/css' }),
  inert('PDF with JavaScript', '%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj', { filename: 'a.pdf', contentType: 'application/pdf' }),
  inert('Flash', bytes('CWS', [10, 0, 0, 0, 0])),
  inert('ImageMagick', "push graphic-context\nviewbox 0 0 640 480\nfill 'url(https://127.0.0.1/x.jpg\"|id \")'\npop graphic-context", { filename: 'a.mvg' }),
  inert('PostScript', '%!PS\nuserdict /setpagedevice undef', { filename: 'a.eps' }),
  inert('a cache manifest', 'CACHE MANIFEST\n/', { contentType: 'text/cache-manifest' }),
  inert('JSON for a worker', '{"a":1}', { contentType: 'application/json' }),
  inert('a Windows shortcut', '[InternetShortcut]\nURL=javascript:alert(1)', { filename: 'a.url' }),

  // file names
  ...[
    '../../../../etc/passwd',
    '..\\..\\windows\\win.ini',
    '/etc/cron.d/x',
    'a.png\0.html',
    'a.html;.png',
    'a"; filename="b.html',
    '\u202egnp.lmth',
    'a.png%0d%0aSet-Cookie: a=b',
    '<script>alert(1)</script>.png',
    '$(id).png',
    "'; DROP TABLE images; --.png",
    'CON',
    '.htaccess',
    '',
    ' ',
    'x'.repeat(3_000),
    '植物.png',
    '${jndi:ldap://127.0.0.1/a}.png',
  ].map((filename) => inert(`a file name: ${JSON.stringify(filename.slice(0, 40))}`, pngOf(1, 1, deflateSync(Buffer.alloc(4))), { filename })),
  inert('a type with a line break', pngMagic, { contentType: 'image/png\r\nX-Injected: 1' }),
  inert('a type with a long parameter', pngMagic, { contentType: `image/png; ${'x'.repeat(2_000)}` }),
];
