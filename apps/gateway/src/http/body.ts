import type { FastifyRequest } from 'fastify';
import type { Load } from '../limits/load.js';
import { Refusal } from '../problems/refusal.js';

type Done = (error: Error | null, body?: Buffer) => void;

/** Reads a body into memory, as the bytes that come: handlers check them and pass them on. */
export const bodyReader =
  (load: Load, maxBytes: number) =>
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
        if (request.taken) load.hold(request.taken, chunk.length);
      } catch (error) {
        end(error as Error);
        return;
      }
      chunks.push(chunk);
    };
    const finish = (): void => end(null, Buffer.concat(chunks, received));
    const fail = (): void => end(new Refusal('malformed-request', 'The body was cut off.'));
    payload.on('data', receive).on('end', finish).on('error', fail);
  };

/** What is left of the body is not worth reading. */
const tooLarge = (maxBytes: number): Refusal =>
  new Refusal('payload-too-large', `Send a body of at most ${maxBytes / 1024} KiB.`, {}, { connection: 'close' });
