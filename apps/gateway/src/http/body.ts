import { HttpError } from '@plant-shop/contracts/problem';
import type { FastifyRequest } from 'fastify';
import type { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';

type Done = (error: Error | null, body?: Buffer) => void;

/** Reads a body into memory as raw bytes, which handlers check and forward. */
export const bodyReader =
  (limiter: ConcurrencyLimiter, maxBytes: number) =>
  (request: FastifyRequest, payload: NodeJS.ReadableStream, done: Done): void => {
    if (Number(request.headers['content-length']) > maxBytes) {
      done(tooLarge(maxBytes));
      return;
    }
    const chunks: Buffer[] = [];
    let received = 0;
    const end = (error: Error | null, body?: Buffer): void => {
      payload.removeListener('data', receive).removeListener('end', finish).removeListener('error', fail);
      done(error, body);
    };
    const receive = (chunk: Buffer): void => {
      received += chunk.length;
      if (received > maxBytes) {
        end(tooLarge(maxBytes));
        return;
      }
      try {
        if (request.slot) limiter.reserve(request.slot, chunk.length);
      } catch (error) {
        end(error as Error);
        return;
      }
      chunks.push(chunk);
    };
    const finish = (): void => end(null, Buffer.concat(chunks, received));
    const fail = (): void => end(new HttpError('malformed-request', 'The body was cut off.'));
    payload.on('data', receive).on('end', finish).on('error', fail);
  };

/** Closes the connection, so that the rest of the body need not be read. */
const tooLarge = (maxBytes: number): HttpError =>
  new HttpError('payload-too-large', `Send a body of at most ${maxBytes / 1024} KiB.`, {}, { connection: 'close' });
