import { Readable } from 'node:stream';
import { Controller, Req, Res } from '@nestjs/common';
import { catalog, imageChunkBytes, type ImageHead } from '@plant-shop/contracts/catalog';
import { HttpError } from '@plant-shop/contracts/problem';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isNotModified } from '../http/headers.js';
import { pathText } from '../http/input.js';
import { Serves } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';
import { weightOfBytes } from '../limits/concurrency-limiter.js';
import { type ByteRange, requestedRange } from './range.js';

@Controller()
export class ImagesController {
  constructor(private readonly forwarder: RpcForwarder) {}

  @Serves(catalog.getImage.client)
  async getImage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const imageId = pathText(request, 'imageId');
    const head = await this.forwarder.call(request, catalog.getImage, { imageId });
    const readChunk = async (index: number): Promise<Buffer> => {
      const { data } = await this.forwarder.call(request, catalog.readImageChunk, { imageId, index }, weightOfBytes(imageChunkBytes));
      return Buffer.from(data, 'base64');
    };
    if (isNotModified(request.headers['if-none-match'], etagOf(head))) void reply.code(304).headers(imageHeaders(head)).send();
    else if (request.method === 'HEAD') void reply.headers(imageHeaders(head)).header('content-length', head.bytes).send(Readable.from([]));
    else await sendPart(reply, head, requestedRange(request.headers, { bytes: head.bytes, etag: etagOf(head) }), readChunk);
  }
}

type ReadChunk = (index: number) => Promise<Buffer>;

async function sendPart(
  reply: FastifyReply,
  head: ImageHead,
  range: ReturnType<typeof requestedRange>,
  readChunk: ReadChunk,
): Promise<void> {
  const { bytes } = head;
  if (range === 'unsatisfiable') {
    throw new HttpError('range-not-satisfiable', `The image has ${bytes} bytes.`, {}, { 'content-range': `bytes */${bytes}` });
  }
  const part = range === 'whole' ? { first: 0, last: bytes - 1 } : range;
  const content = await streamOf(part, readChunk);
  // Only now: an error response must not have the headers of the image, such as its ETag.
  reply.headers(imageHeaders(head));
  if (range !== 'whole') reply.code(206).header('content-range', `bytes ${part.first}-${part.last}/${bytes}`);
  void reply.header('content-length', part.last - part.first + 1).send(content);
}

const etagOf = ({ sha256 }: ImageHead): string => `"${sha256}"`;

/** Images come from users, so a browser must never run their content. */
const imageHeaders = (head: ImageHead): Record<string, string> => ({
  'content-type': head.contentType,
  'content-disposition': head.disposition,
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=31536000, immutable',
  'accept-ranges': 'bytes',
  etag: etagOf(head),
});

/**
 * Streams the chunks of a range, each once the client has consumed the one before. Reads the first before the response
 * begins, so that its failure is still answered with an error.
 */
async function streamOf({ first, last }: ByteRange, readChunk: ReadChunk): Promise<Readable> {
  const firstChunk = Math.floor(first / imageChunkBytes);
  const lastChunk = Math.floor(last / imageChunkBytes);
  const piece = async (index: number): Promise<Buffer> =>
    (await readChunk(index)).subarray(
      index === firstChunk ? first % imageChunkBytes : 0,
      index === lastChunk ? (last % imageChunkBytes) + 1 : undefined,
    );
  const beginning = await piece(firstChunk);
  return Readable.from(
    (async function* () {
      yield beginning;
      for (let index = firstChunk + 1; index <= lastChunk; index++) yield await piece(index);
    })(),
    { objectMode: false, highWaterMark: 0 },
  );
}
