import { Inject, Injectable } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import type { RawAnswer } from '@plant-shop/platform/rpc/client';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { gauge } from '@plant-shop/platform/service/metrics';
import { CoalescedRead } from '@plant-shop/platform/coalesced-read';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Registry } from 'prom-client';
import { etagOf } from '../http/conditions.js';
import { type PageQuery, sendCached, RpcForwarder, type Unvalidated } from '../http/rpc-forwarder.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../options.js';
import { type CachedResponse, ReadCache } from './read-cache.js';
import { CatalogVersions } from './catalog-versions.js';

/**
 * Reads that are the same for everybody. What the catalogue answered is kept as bytes and sent again when a check, which
 * began after the request came in, finds that it still holds; the inventory, which changes with every order, is read once
 * for all who ask at the same time. So nobody sees less than anybody was shown or told before, by whichever gateway
 * (docs/decisions/cached-reads.md).
 */
@Injectable()
export class CachedReads {
  private readonly cache: ReadCache;
  private readonly versions: CatalogVersions;
  private readonly inventory: CoalescedRead<CachedResponse>;
  /** What is being asked for, by the same keys as what is kept. */
  private readonly pending = new Map<string, CoalescedRead<CachedResponse>>();
  private hits = 0;
  private misses = 0;

  constructor(
    private readonly forwarder: RpcForwarder,
    @Inject(GATEWAY_OPTIONS) { readCacheMib }: Pick<GatewayOptions, 'readCacheMib'>,
    metrics: Registry,
  ) {
    this.cache = new ReadCache(readCacheMib * 1024 * 1024);
    this.versions = new CatalogVersions((operation) => forwarder.readShared(operation, {}));
    this.inventory = new CoalescedRead(async () => toCached(await forwarder.readShared(store.readInventory, {}), undefined));
    this.observe(metrics);
  }

  /** Plants, one or a page of them; `query` names a page's own parameters, for the link to the next one. */
  async sendPlants<Payload>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation<Payload, unknown>,
    parameters: Unvalidated<Payload>,
    query?: PageQuery,
  ): Promise<void> {
    const key = operation.name + JSON.stringify(parameters);
    const cached = this.cache.get(key);
    if (cached?.stamp !== undefined && (await this.versions.current()).has(cached.stamp)) {
      this.hits++;
      sendCached(request, reply, cached);
      return;
    }
    this.misses++;
    sendCached(request, reply, await this.fetchShared(key, async () => {
      const answer = await this.forwarder.readShared(operation, parameters, request);
      const { next } = answer;
      return toCached(answer, query && next !== undefined ? this.forwarder.nextLink(request, query, next) : undefined);
    }));
  }

  async sendInventory(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    sendCached(request, reply, await this.inventory.get());
  }

  /** Once for all who ask the same at the same time. */
  private async fetchShared(key: string, read: () => Promise<CachedResponse>): Promise<CachedResponse> {
    let pending = this.pending.get(key);
    if (!pending) {
      pending = new CoalescedRead(async () => {
        const answer = await read();
        this.cache.set(key, answer);
        return answer;
      });
      this.pending.set(key, pending);
    }
    try {
      return await pending.get();
    } finally {
      if (pending.isIdle && this.pending.get(key) === pending) this.pending.delete(key);
    }
  }

  private observe(metrics: Registry): void {
    gauge(metrics, 'read_cache_bytes', 'Bytes of answers that are kept', () => this.cache.bytes);
    gauge(metrics, 'read_cache_answers', 'Answers that are kept', () => this.cache.size);
    const counter = (name: string, help: string, read: () => number): void => {
      new Counter({
        name,
        help,
        registers: [metrics],
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    };
    counter('read_cache_hits_total', 'Requests that were answered with what was kept', () => this.hits);
    counter('read_cache_misses_total', 'Requests for which the catalog was asked', () => this.misses);
    counter('read_cache_checks_total', 'Checks of what is kept, each for all requests of its time', () => this.versions.checks);
  }
}

/** Copied: the bytes that came are a piece of a whole frame, which would be kept with them. */
function toCached({ payload, version, stamp }: RawAnswer, link: string | undefined): CachedResponse {
  const own = Buffer.allocUnsafeSlow(payload.length);
  own.set(payload);
  return { payload: own, etag: version === undefined ? undefined : etagOf(version), link, stamp };
}
