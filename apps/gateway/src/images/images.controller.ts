import { Readable } from 'node:stream';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { catalog, type ImageHead } from '@plant-shop/contracts/catalog';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKnown } from '../http/conditions.js';
import { pathText } from '../http/input.js';
import { Rule } from '../http/rule.js';
import { Services } from '../http/services.js';

@Controller('v3/images')
export class ImagesController {
  constructor(private readonly services: Services) {}

  @Get(':imageId')
  @Rule()
  async getImage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const imageId = pathText(request, 'imageId');
    const head = await this.services.call(request, catalog.getImage, { imageId });
    const readChunk = async (index: number): Promise<Buffer> => {
      const { data } = await this.services.call(request, catalog.readImageChunk, { imageId, index });
      return Buffer.from(data, 'base64');
    };
    reply.headers(imageHeaders(head));
    if (isKnown(request.headers['if-none-match'], etagOf(head))) void reply.code(304).send();
    else if (request.method === 'HEAD') void reply.header('content-length', head.bytes).send(Readable.from([]));
    else void reply.header('content-length', head.bytes).send(await streamOf(head, readChunk));
  }
}

const etagOf = ({ sha256 }: ImageHead): string => `"${sha256}"`;

/** Images come from users: whatever their bytes are, a browser must not run them. */
const imageHeaders = (head: ImageHead): Record<string, string> => ({
  'content-type': head.contentType,
  'content-disposition': head.disposition,
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=31536000, immutable',
  etag: etagOf(head),
});

/** Reads a chunk when the client has taken the one before. The first is read at once: then an error is still an answer. */
async function streamOf({ chunks }: ImageHead, readChunk: (index: number) => Promise<Buffer>): Promise<Readable> {
  const first = await readChunk(0);
  return Readable.from(
    (async function* () {
      yield first;
      for (let index = 1; index < chunks; index++) yield await readChunk(index);
    })(),
    { objectMode: false, highWaterMark: 0 },
  );
}
