import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { withoutMetadata } from './metadata.js';

// Pictures of 16 by 16 pixels from the tests of CPython, without metadata.
const jpeg = Buffer.from(
    '/9j/4AAQSkZJRgABAQEAAQABAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/' +
    '2wBDAQMDAwQDBAgEBAgQCwkLEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBD/wAARCAAQABADASIAAhEBAxEB/8QA' +
    'FgABAQEAAAAAAAAAAAAAAAAABwQF/8QAJBAAAQQBBAICAwAAAAAAAAAAAQIDBAYFBwgSExEiABQJMTL/xAAVAQEBAAAAAAAAAAAAAAAAAAAABv/EACMRAAEC' +
    'BQMFAAAAAAAAAAAAAAECEQMEBQYhABIxFRZhgeH/2gAMAwEAAhEDEQA/ABSm0mobc8HmExLUlRzzEWPkJWW+ulrsaUVAseUgslSlH9LKuPryIKuWPZdskzXm' +
    'm3fX5m2nF4GlVxx/HOpx4ks51+MiU/Iaad7UcUo4tILoS4kqcWkezS0hO/HvuRp0rO6hWnWO1UisZVuFi4GFeyEpmGepa5S5SWVPuciFKRFLgSrwetnyPIB+' +
    'Vb4N9mKhQMzo5po9XLdDs9d6ZVix2VEhiL9kuNPxw2gEKcDQ/rs8AuA8VAe0vdl7VOYn+27flGAUgmITjbhSmCg3BYlyeWDkMolvw4KOp1KM6iCNvngZHwet' +
    'f//Z',
  'base64',
);
const webp = Buffer.from(
    'UklGRqgBAABXRUJQVlA4WAoAAAAQAAAADwAADwAAQUxQSMMAAAABJ6KokSTleucYX+ffKpmImP90cY3gJjDi4Yt3MsjBEVyDKzDosHgVjnhRNcEIDAJPkqBq' +
    'sFUZHNa2bUYvTsZ2PLbtd/uvKa4hov9J0f2PkPe6REkkGzolkTTzFG0Ox9PlFiD0CxS+kOGDtxoynjaCfx0pfk52CPuInrOR75lzRugygtv4zEiy90UwfSD9' +
    'NheMITJWLaXWayO8XeOlWRXVnIGk2W6WdYoYMQ+KqixQNPowgt+6a1BSKbUtz+lUFAoBAAAAVlA4IL4AAACQAgCdASoQABAAAwA0JbACdDBPCIUMfAMdCCz9' +
    '6AD+/XSg/QKbH4r3Q3ycN/bSDK/T/zVo4u6nvclvG/SqxWOuup+XhN9BojvaW+Tv+MvxvX/hr/o/5Qns9LtmX/+qKdl/yWznhuasl7nkxvSTI4xf3Y85VSB/' +
    'lU/8Ofj/b9JrA+ifvIOYZm2x1RP/dhfmsf5diuSfR7+z+r/+HR3zEo/+XM/B+vkYw73Pzx+ROaAB/ZoBSzEs3rzZe6qsAAAA',
  'base64',
);

const png = (...more: readonly Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', Buffer.from('00000001000000010806000000', 'hex')),
    chunk('gAMA', Buffer.from('0000b18f', 'hex')),
    ...more,
    chunk('IDAT', Buffer.from('789c63f8ffff3f0005fe02fe', 'hex')),
    chunk('IEND', Buffer.alloc(0)),
  ]);
function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(data.length);
  around.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([around.subarray(0, 4), named, around.subarray(4)]);
}

/** EXIF (TIFF) with an artist, an orientation, and where the picture was taken. */
function exif(orientation: number, isLittle: boolean): Buffer {
  const tiff = Buffer.alloc(160);
  tiff.write(isLittle ? 'II' : 'MM');
  const u16 = (value: number, at: number): number => (isLittle ? tiff.writeUInt16LE(value, at) : tiff.writeUInt16BE(value, at));
  const u32 = (value: number, at: number): number => (isLittle ? tiff.writeUInt32LE(value, at) : tiff.writeUInt32BE(value, at));
  const entry = (at: number, tag: number, type: number, count: number, value: number, isShort = false): void => {
    u16(tag, at);
    u16(type, at + 2);
    u32(count, at + 4);
    if (isShort) u16(value, at + 8);
    else u32(value, at + 8);
  };
  u16(42, 2);
  u32(8, 4);
  u16(3, 8);
  entry(10, 274, 3, 1, orientation, true);
  entry(22, 315, 2, 12, 60);
  entry(34, 34_853, 4, 1, 80);
  tiff.write('Ada Lovelace', 60);
  u16(1, 80);
  entry(82, 2, 5, 3, 100);
  tiff.write('51 deg 30 min N', 100);
  return tiff;
}
/** The same without all but the orientation. */
const onlyOrientation = (orientation: number): Buffer => Buffer.from(`4d4d002a0000000800010112000300000001000${orientation}000000000000`, 'hex');

const segment = (code: number, content: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from([0xff, code, (content.length + 2) >> 8, (content.length + 2) & 255]), Buffer.from(content as string)]);
const app1 = (tiff: Buffer): Buffer => segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), tiff]));
/** The JPEG with segments after its first. */
const jpegWith = (...segments: readonly Buffer[]): Buffer => Buffer.concat([jpeg.subarray(0, 20), ...segments, jpeg.subarray(20)]);
const xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><exif:GPSLatitude>51,30N Lovelace</exif:GPSLatitude></x:xmpmeta>';
const profile = segment(0xe2, 'ICC_PROFILE\0\x01\x01 colours');
const adobe = segment(0xee, 'Adobe\0d\0\0\0\0\0');

const webpChunk = (type: string, data: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.write(type);
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
};
const webpWith = (...chunks: readonly Buffer[]): Buffer => {
  const all = Buffer.concat([webp, ...chunks]);
  all.writeUInt32LE(all.length - 8, 4);
  return all;
};

const sizes = [1, 3, 100, 100_000];
async function stripped(file: Buffer, size: number): Promise<Buffer> {
  const pieces = async function* (): AsyncGenerator<Buffer> {
    for (let at = 0; at < file.length; at += size) yield file.subarray(at, at + size);
  };
  const out: Buffer[] = [];
  for await (const piece of withoutMetadata(pieces())) out.push(piece);
  return Buffer.concat(out);
}

const private_ = /Lovelace|51 deg|adobe:ns|iPhone/;

describe('metadata of pictures', () => {
  it.each<[string, Buffer, Buffer]>([
    ['a JPEG without any', jpeg, jpeg],
    ['a JPEG with EXIF, little-endian', jpegWith(app1(exif(6, true))), jpegWith(app1(onlyOrientation(6)))],
    ['a JPEG with EXIF, big-endian', jpegWith(app1(exif(8, false))), jpegWith(app1(onlyOrientation(8)))],
    ['a JPEG with an impossible orientation', jpegWith(app1(exif(9, true))), jpegWith(app1(onlyOrientation(1)))],
    ['a JPEG with XMP, IPTC and comments', jpegWith(segment(0xe1, `http://ns.adobe.com/xap/1.0/\0${xmp}`), segment(0xed, 'Photoshop 3.0\0Lovelace'), segment(0xfe, 'iPhone'), segment(0xeb, 'JP Lovelace')), jpeg],
    ['a JPEG with EXIF after fill bytes', jpegWith(Buffer.alloc(9, 0xff), app1(exif(6, true)), Buffer.alloc(1, 0xff)), jpegWith(app1(onlyOrientation(6)))],
    ['a JPEG with several pictures', Buffer.concat([jpegWith(segment(0xe2, 'MPF\0Lovelace')), jpegWith(app1(exif(1, true))), Buffer.from('ftyp iPhone')]), jpeg],
    ['a JPEG with what its colours need', jpegWith(profile, app1(exif(3, true)), adobe), jpegWith(profile, app1(onlyOrientation(3)), adobe)],
    ['a PNG without any', png(), png()],
    ['a PNG with texts and times', png(chunk('tEXt', Buffer.from('Author\0Lovelace')), chunk('iTXt', Buffer.from(xmp)), chunk('zTXt', Buffer.from('iPhone')), chunk('tIME', Buffer.alloc(7)), chunk('caBX', Buffer.from('Lovelace'))), png()],
    ['a PNG with EXIF', png(chunk('eXIf', exif(6, false))), png(chunk('eXIf', onlyOrientation(6)))],
    ['a PNG with something after it', Buffer.concat([png(), Buffer.from('Lovelace')]), png()],
    ['a WebP without any', webp, webp],
    ['a WebP with EXIF and XMP', webpWith(webpChunk('EXIF', exif(6, true)), webpChunk('XMP ', Buffer.from(xmp))), webpWith(webpChunk('EXIF', Buffer.concat([onlyOrientation(6), Buffer.alloc(134)])), webpChunk('XMP ', Buffer.alloc(xmp.length)))],
    ['a WebP with something after it', Buffer.concat([webp, Buffer.from('Lovelace')]), webp],
    ['a GIF', Buffer.from('GIF89a, unchanged'), Buffer.from('GIF89a, unchanged')],
    ['no picture', Buffer.from('Ada Lovelace'), Buffer.from('Ada Lovelace')],
    ['nothing', Buffer.alloc(0), Buffer.alloc(0)],
  ])('is removed from %s, and nothing else', async (_, file, expected) => {
    for (const size of sizes) expect((await stripped(file, size)).equals(expected)).toBe(true);
    if (!/^(GIF|no)/.test(_)) expect(expected.toString('latin1')).not.toMatch(private_);
  });

  it('is removed as far as the file goes, wherever it is cut off or damaged', async () => {
    const files = [jpegWith(app1(exif(6, true)), profile), png(chunk('eXIf', exif(6, true))), webpWith(webpChunk('EXIF', exif(6, true)))];
    for (const file of files) {
      for (let length = 1; length < file.length; length += 7) expect((await stripped(file.subarray(0, length), 64)).length).toBeLessThanOrEqual(length + 40);
    }
    // Announces four gigabytes, of which nothing is held.
    const huge = Buffer.concat([Buffer.from('RIFF\xff\xff\xff\xffWEBPXXXX\xf0\xff\xff\xff', 'latin1'), Buffer.from('Ada Lovelace')]);
    expect((await stripped(huge, 5)).toString('latin1')).not.toMatch(private_);
  });
});
