import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { CodedError } from '@plant-shop/platform/errors';
import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { type ImportContext, importLines, LineReader, maxLineBytes, previewLines } from './imports.js';

const readAll = (pieces: readonly Buffer[]): (readonly [number, string])[] => {
  const reader = new LineReader();
  const lines = pieces.flatMap((piece) => [...reader.read(piece)]);
  const rest = reader.rest();
  return [...lines, ...(rest ? [rest] : [])].map(({ number, bytes, tooLong }) => [number, tooLong ? 'too long' : bytes.toString()]);
};

const requestOf = (raw: Readable): FastifyRequest => ({ raw }) as unknown as FastifyRequest;

describe('lines', () => {
  it('do not depend on how the bytes are split into pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.nat(20)), (texts, cuts) => {
        const whole = Buffer.from(texts.map((text) => `${text.replaceAll('\n', '')}\n`).join(''));
        const pieces: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) pieces.push(whole.subarray(at, (at += cut)));
        expect(readAll([...pieces, whole.subarray(at)])).toEqual(readAll([whole]));
      }),
    );
  });

  it('are numbered including blank ones, which are omitted', () => {
    expect(readAll([Buffer.from('a\n\n \r\nb')])).toEqual([
      [1, 'a'],
      [4, 'b'],
    ]);
  });

  it('that are too long are skipped', () => {
    const long = Buffer.alloc(maxLineBytes + 1, 'x');
    expect(readAll([Buffer.from('a\n'), long, long, Buffer.from('y\nb\n')])).toEqual([
      [1, 'a'],
      [2, 'too long'],
      [3, 'b'],
    ]);
    expect(readAll([long.subarray(1), Buffer.from('\n')])[0]?.[1]).toHaveLength(maxLineBytes);
  });

  it('that have arrived already leave other requests their turn (slow)', async () => {
    const pieces = 10;
    const raw = Readable.from(Array.from({ length: pieces }, () => Buffer.alloc(64 * 1024, '\n')));
    let turns = 0;
    let isOver = false;
    const countTurns = (): void => {
      turns++;
      if (!isOver) setImmediate(countTurns);
    };
    countTurns();
    const context = { publicUrl: 'http://shop.test', stop: new AbortController().signal } as ImportContext;
    const results: string[] = [];
    for await (const one of importLines(requestOf(raw), context)) results.push(one);
    isOver = true;
    expect(results).toHaveLength(1);
    expect(turns).toBeGreaterThanOrEqual(pieces);
  });

  it('that are not read do not hold up the connection', async () => {
    const bodyOf = (): FastifyRequest => requestOf(Readable.from(['{"id":1}\n'.repeat(300), ...Array.from({ length: 40 }, () => 'x'.repeat(64 * 1024))].map((text) => Buffer.from(text))));
    const refused = bodyOf();
    await expect(previewLines(refused, {} as ImportContext)).rejects.toMatchObject({ code: 'payload-too-large' });
    await once(refused.raw, 'end');
    const ended = bodyOf();
    const recheckCredential = (): Promise<void> => Promise.reject(new CodedError('credential-refused', 'It was revoked.'));
    const context = { publicUrl: 'http://shop.test', stop: new AbortController().signal, recheckCredential } as ImportContext;
    for await (const one of importLines(ended, context)) expect(one).toContain('credential-refused');
    await once(ended.raw, 'end');
  });

  it('of a preview that end with the connection are no defect', async () => {
    const raw = new Readable({ read: () => undefined });
    const previewed = previewLines(requestOf(raw), {} as ImportContext);
    raw.destroy(new Error('aborted'));
    await expect(previewed).rejects.toMatchObject({ code: 'malformed-request' });
  });
});
