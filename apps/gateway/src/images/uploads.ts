import { Injectable } from '@nestjs/common';
import { catalog, imageChunkBytes, maxImageBytes } from '@plant-shop/contracts/catalog';
import type { StoredImage } from '@plant-shop/contracts/catalog';
import multipart, { type Multipart } from '@fastify/multipart';
import { HttpError } from '@plant-shop/contracts/problem';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { idempotencyKeyOf } from '../http/headers.js';
import { pathId, queryText } from '../http/input.js';
import { RequestAuthenticator } from '../http/request-authenticator.js';
import { routeSpecOf } from '../http/route.js';
import { sendApiResponse, RpcForwarder } from '../http/rpc-forwarder.js';
import { ConcurrencyLimiter, weightOfBytes } from '../limits/concurrency-limiter.js';
import { receiveUpload } from './upload.js';

/** The file, and 1 MiB for the other parts and the multipart framing. */
const maxRequestBytes = maxImageBytes + 1024 * 1024;

const limits = {
  fileSize: maxImageBytes + 1,
  fieldSize: 8_192,
  fieldNameSize: 200,
  fields: 20,
  files: 5,
  parts: 20,
  headerPairs: 20,
  headerSize: 8_192,
};

const noPicture = 'It is no JPEG, PNG, GIF, WebP or AVIF by its content, so it is stored as an attachment and not in photoUrls.';

@Injectable()
export class Uploads {
  constructor(
    private readonly forwarder: RpcForwarder,
    private readonly limiter: ConcurrencyLimiter,
    private readonly authenticator: RequestAuthenticator,
  ) {}

  /**
   * Registers the upload route in a context of its own instead of a Nest controller: the multipart plug-in adds asynchronous
   * hooks to every route of its context.
   */
  register(instance: FastifyInstance): void {
    instance.register(async (child) => {
      await child.register(multipart, { limits, throwFileSizeLimit: false });
      const operation = catalog.beginImage.client;
      child.route({
        method: operation.method,
        url: operation.url,
        config: { spec: routeSpecOf(operation) },
        handler: (request, reply) => this.uploadImage(request, reply),
      });
    });
  }

  private async uploadImage(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (Number(request.headers['content-length'] ?? 0) > maxRequestBytes) {
      throw new HttpError('payload-too-large', 'Send an image of at most 10 MiB.');
    }
    try {
      // One chunk, and its copies in the parser and in the call to the catalog.
      if (request.slot) this.limiter.reserve(request.slot, 3 * imageChunkBytes);
      await this.receive(request, reply);
    } catch (error) {
      // Drains the unread rest of the body, which otherwise precedes the connection's next request.
      request.raw.unpipe();
      request.raw.resume();
      throw error;
    }
  }

  private async receive(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const plantId = pathId(request, 'plantId');
    // Refuses a malformed key before the upload begins.
    idempotencyKeyOf(request);
    let uploadId: string | undefined;
    const parts = request.isMultipart() ? request.parts() : partsOfFile(request);
    const { stored, metadata } = await receiveUpload<StoredImage>(parts, {
      begin: async () => {
        ({ uploadId } = await this.forwarder.call(request, catalog.beginImage, { plantId }));
      },
      write: async (index, chunk) => {
        await this.forwarder.call(request, catalog.writeImageChunk, { uploadId, index, data: chunk.toString('base64') }, weightOfBytes(chunk.length));
      },
      finish: async (additionalMetadata) => {
        // The body may have taken minutes, and there is no image before this call.
        await this.authenticator.recheck(request);
        return this.forwarder.callIdempotent(request, reply, catalog.finishImage, { uploadId, additionalMetadata });
      },
    });
    const { url, shown } = stored;
    sendApiResponse(reply, `additionalMetadata: ${metadata ?? ''}; url: ${url}`, { imageUrl: url, shown, ...(!shown && { notShownBecause: noPicture }) });
  }
}

/** The parts of an upload as Petstore v3 describes it: the body is the file, and the metadata is in the query. */
async function* partsOfFile(request: FastifyRequest): AsyncGenerator<Multipart, void, undefined> {
  const value = queryText(request, 'additionalMetadata');
  if (value !== undefined) yield { type: 'field', fieldname: 'additionalMetadata', value } as Multipart;
  yield { type: 'file', fieldname: 'file', file: request.raw } as unknown as Multipart;
}
