import type { Multipart, MultipartFile } from '@fastify/multipart';
import { imageChunkBytes, maxImageBytes } from '@plant-shop/contracts/catalog';
import { badField, badFields, HttpError } from '@plant-shop/contracts/problem';
import { undeclared } from '../http/members.js';
import { withoutMetadata } from './metadata.js';

/** Of the text that accompanies the file, in characters. */
export const maxMetadataLength = 1_000;

/** Receives the chunks of a file in order. */
export interface ImageSink<Stored> {
  begin(): Promise<void>;
  write(index: number, chunk: Buffer): Promise<void>;
  finish(metadata: string | undefined): Promise<Stored>;
}

export interface Upload<Stored> {
  readonly stored: Stored;
  readonly metadata: string | undefined;
}

/**
 * Reads a multipart body and writes the file to the sink in chunks; holds at most one chunk and the parser's buffer in memory.
 * Calls `begin` at the first byte of the file, and `finish` only after all parts were read and are valid.
 */
export async function receiveUpload<Stored>(
  parts: AsyncIterable<Multipart>,
  sink: ImageSink<Stored>,
): Promise<Upload<Stored>> {
  let metadata: string | undefined;
  let hasFile = false;
  for await (const part of mapParserErrors(parts)) {
    // The parser passes on parts without a name, which RFC 7578 requires.
    if ((part.fieldname as string | undefined) === undefined) throw new HttpError('malformed-request', 'A part of the multipart body has no name.');
    if (part.type === 'field') {
      if (part.fieldname === 'file') throw badField('/file', 'must be a file, with a file name');
      if (part.fieldname !== 'additionalMetadata') throw unknownPart(part.fieldname);
      if (metadata !== undefined) throw badField('/additionalMetadata', 'must be given once');
      metadata = metadataOf(part.value, part.valueTruncated);
    } else if (part.fieldname === 'file') {
      if (hasFile) throw badField('/file', 'must be given once');
      hasFile = true;
      await receiveFile(part, sink);
    } else {
      throw unknownPart(part.fieldname);
    }
  }
  if (!hasFile) throw badField('/file', 'must be given, as a file');
  return { stored: await sink.finish(metadata), metadata };
}

const unknownPart = (name: string): HttpError => badFields([undeclared('', name, ['file', 'additionalMetadata'])]);

function metadataOf(value: unknown, isTruncated: boolean): string {
  if (typeof value !== 'string' || isTruncated || value.length > maxMetadataLength) {
    throw badField('/additionalMetadata', `must be text of at most ${maxMetadataLength} characters`);
  }
  if (value.includes('\0')) throw badField('/additionalMetadata', 'must not contain NUL characters');
  return value;
}

async function receiveFile<Stored>({ file }: MultipartFile, sink: ImageSink<Stored>): Promise<void> {
  let index = 0;
  let total = 0;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  const write = async (): Promise<void> => {
    if (index === 0) await sink.begin();
    await sink.write(index++, Buffer.concat(waiting, waitingBytes));
    waiting = [];
    waitingBytes = 0;
  };
  const received = async function* (): AsyncGenerator<Buffer, void, undefined> {
    for await (const piece of mapParserErrors(file as AsyncIterable<Buffer>)) {
      total += piece.length;
      if (total > maxImageBytes) throw new HttpError('payload-too-large', 'Send an image of at most 10 MiB.');
      yield piece;
    }
  };
  for await (const piece of withoutMetadata(received())) {
    for (let rest = piece; rest.length > 0; ) {
      const head = rest.subarray(0, imageChunkBytes - waitingBytes);
      waiting.push(head);
      waitingBytes += head.length;
      rest = rest.subarray(head.length);
      if (waitingBytes === imageChunkBytes) await write();
    }
  }
  if (waitingBytes > 0) await write();
  if (total === 0) throw badField('/file', 'must not be empty');
}

/**
 * Turns the parser's plain errors (a truncated body, broken part headers) into `malformed-request`. Errors that the consumer
 * throws pass unchanged.
 */
async function* mapParserErrors<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      const next = await iterator.next().catch((error: unknown) => {
        isDone = true;
        throw isFastifyError(error) ? error : malformed();
      });
      if (next.done === true) {
        isDone = true;
        return;
      }
      // The plug-in distinguishes errors from parts by instanceof, which fails for errors of another realm.
      if (Object.prototype.toString.call(next.value) === '[object Error]') throw malformed();
      yield next.value;
    }
  } finally {
    if (!isDone) await iterator.return?.();
  }
}

const malformed = (): HttpError => new HttpError('malformed-request', 'The multipart body is malformed or was cut off.');

/** Errors of Fastify and its plug-ins have codes that problems/problem.ts maps. */
const isFastifyError = (error: unknown): boolean => error instanceof Error && 'code' in error && String(error.code).startsWith('FST_');
