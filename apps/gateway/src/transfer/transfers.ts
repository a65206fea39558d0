import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Inject, Injectable, Req, Res } from '@nestjs/common';
import { catalog, type ExportedPage } from '@plant-shop/contracts/catalog';
import { HttpError } from '@plant-shop/contracts/problem';
import { CodedError, isTransient, overloaded } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';
import { RequestAuthenticator } from '../http/request-authenticator.js';
import { Serves } from '../http/route.js';
import { RpcForwarder } from '../http/rpc-forwarder.js';
import { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';
import { importLines, previewLines } from './imports.js';

const linesType = 'application/x-ndjson';

/** Concurrent imports and exports of this gateway; each reserves the memory of two batches. */
const maxConcurrent = 32;
const reservedBytes = 1024 * 1024;
/** How long before Node's request timeout an import ends with its totals. */
const marginMs = 5_000;
const readAgainAfterMs = [200, 500, 1_000, 2_000];

/** Imports and exports the catalogue as a stream of lines, in bounded memory. */
@Injectable()
export class Transfers {
  private running = 0;

  constructor(
    private readonly forwarder: RpcForwarder,
    private readonly authenticator: RequestAuthenticator,
    private readonly limiter: ConcurrencyLimiter,
    private readonly drain: ConnectionDrain,
    @Inject(GATEWAY_OPTIONS) private readonly options: Pick<GatewayOptions, 'publicUrl' | 'requestTimeoutMs'>,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  import(request: FastifyRequest, reply: FastifyReply): void {
    this.acquire(request, reply);
    const timeout = new AbortController();
    const { requestTimeoutMs } = this.options;
    const timer = setTimeout(() => timeout.abort(timedOut(requestTimeoutMs)), Math.max(requestTimeoutMs - marginMs, requestTimeoutMs / 2));
    reply.raw.once('close', () => clearTimeout(timer));
    const results = importLines(request, {
      forwarder: this.forwarder,
      publicUrl: this.options.publicUrl,
      stop: AbortSignal.any([timeout.signal, this.drain.ending]),
      recheckCredential: () => this.authenticator.recheck(request),
    });
    this.send(request, reply, results);
  }

  async preview(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    this.acquire(request, reply);
    this.send(request, reply, await previewLines(request, { forwarder: this.forwarder, publicUrl: this.options.publicUrl }));
  }

  async export(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.method === 'HEAD') {
      void reply.code(200).header('content-type', linesType).send();
      return;
    }
    this.acquire(request, reply);
    // Weighs nothing: the catalog lets it wait until another export ends, whose reads must not wait behind it for their turn.
    const { snapshot } = await this.forwarder.call(request, catalog.beginExport, {}, 0);
    // Reads the first page before it sends the status, so that an outage is answered with a problem and not an empty catalogue.
    const first = await this.page(request, snapshot, 0);
    this.send(request, reply, this.exported(request, snapshot, first));
  }

  /** Throws if it cannot complete, which aborts the response: a client must not take a part for the whole. */
  private async *exported(request: FastifyRequest, snapshot: string, first: ExportedPage): AsyncGenerator<string, void, undefined> {
    try {
      for (let page = first; page.plants.length > 0 && page.next !== undefined; page = await this.page(request, snapshot, page.next)) {
        yield page.plants.map((plant) => `${JSON.stringify(plant)}\n`).join('');
        await this.authenticator.recheck(request);
      }
    } finally {
      await this.forwarder.call(request, catalog.endExport, { snapshot }).catch((error: unknown) => {
        // The catalog ends an idle export itself.
        this.logger.info({ err: error, requestId: request.id }, 'ending the export failed');
      });
    }
  }

  private async page(request: FastifyRequest, snapshot: string, after: number): Promise<ExportedPage> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.forwarder.call(request, catalog.readExport, { snapshot, after });
      } catch (error) {
        const waitMs = readAgainAfterMs[attempt];
        if (waitMs === undefined || !isTransient(error)) throw error;
        await sleep(waitMs);
      }
    }
  }

  private acquire(request: FastifyRequest, reply: FastifyReply): void {
    if (this.running >= maxConcurrent) throw overloaded('The gateway');
    if (request.slot) this.limiter.reserve(request.slot, reservedBytes);
    this.running++;
    reply.raw.once('close', () => this.running--);
  }

  private send(request: FastifyRequest, reply: FastifyReply, lines: AsyncGenerator<string, void, undefined> | readonly string[]): void {
    const stream = Readable.from(lines, { objectMode: false, highWaterMark: 64 * 1024 });
    stream.on('error', (error) => {
      const level = error instanceof CodedError || 'code' in error ? 'info' : 'error';
      this.logger[level]({ err: error, requestId: request.id, operation: request.routeSpec?.operation }, 'transfer cut off');
    });
    void reply.code(200).header('content-type', linesType).send(stream);
  }
}

const timedOut = (limitMs: number): HttpError =>
  new HttpError('request-timeout', `A request may take ${Math.round(limitMs / 1_000)} s. Send the remaining lines in another request.`);

/** Imports and exports, which are streams. */
@Controller()
export class TransferController {
  constructor(private readonly transfers: Transfers) {}

  @Serves(catalog.importPlants.client)
  importPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.transfers.import(request, reply);
  }

  @Serves(catalog.previewImport.client)
  previewImport(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.transfers.preview(request, reply);
  }

  @Serves(catalog.beginExport.client)
  exportPlants(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.transfers.export(request, reply);
  }
}
