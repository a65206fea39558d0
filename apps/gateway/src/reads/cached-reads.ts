import { Inject, Injectable } from '@nestjs/common';
import { catalog } from '@plant-shop/contracts/catalog';
import { CoalescedRead } from '@plant-shop/platform/patterns/coalesced-read';
import type { RawAnswer } from '@plant-shop/platform/rpc/client';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Registry } from 'prom-client';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';
import { etagOf } from '../http/headers.js';
import { weightOf } from '../http/route.js';
import { type PageQuery, RpcForwarder, sendJson, type Unvalidated } from '../http/rpc-forwarder.js';
import { ConcurrencyLimiter } from '../limits/concurrency-limiter.js';

const none: ReadonlySet<string> = new Set();

/** Reads the catalogue's current version stamps from the catalog; concurrent requests share a read. */
export class CatalogVersions {
  private readonly shared: CoalescedRead<ReadonlySet<string>>;
  /** The last answer; mostly it has not changed and need not be parsed again. */
  private bytes: Buffer = Buffer.alloc(0);
  private parsed = none;
  checks = 0;

  constructor(private readonly call: (operation: typeof catalog.readStamps) => Promise<RawAnswer>) {
    this.shared = new CoalescedRead(() => this.read());
  }

  /** Returns stamps that were read after this call, in the same set as long as they are the same. @throws CodedError `unavailable` or another error of the catalog */
  current(): Promise<ReadonlySet<string>> {
    return this.shared.get();
  }

  private async read(): Promise<ReadonlySet<string>> {
    this.checks++;
    const { payload } = await this.call(catalog.readStamps);
    if (this.bytes.equals(payload)) return this.parsed;
    this.bytes = Buffer.from(payload);
    this.parsed = new Set(JSON.parse(this.bytes.toString()) as string[]);
    return this.parsed;
  }
}

/** A response that is ready to be sent. */
export interface CachedResponse {
  readonly payload: Buffer;
  readonly etag: string | undefined;
  /** The `Link` header. */
  readonly link: string | undefined;
  /** Checked before each reuse. Without a stamp from the catalog the response is never reused. */
  readonly stamp: string | undefined;
}

/** Estimated memory of an entry in addition to its key and payload. */
const overheadBytes = 600;

const bytesOf = (key: string, { payload }: CachedResponse): number => payload.length + 2 * key.length + overheadBytes;

/** A least-recently-used cache of responses, bounded by their total size. */
export class ReadCache {
  private readonly entries = new Map<string, CachedResponse>();
  private total = 0;

  constructor(private readonly maxBytes: number) {}

  get(key: string): CachedResponse | undefined {
    const found = this.entries.get(key);
    if (!found) return undefined;
    // Moves the entry to the end: the map is ordered by last use.
    this.entries.delete(key);
    this.entries.set(key, found);
    return found;
  }

  /** Caches a response, unless it is larger than an eighth of the cache and would evict too many others. */
  set(key: string, read: CachedResponse): void {
    this.delete(key);
    const bytes = bytesOf(key, read);
    if (bytes > this.maxBytes / 8) return;
    this.entries.set(key, read);
    this.total += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.total <= this.maxBytes) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const found = this.entries.get(key);
    if (!found) return;
    this.entries.delete(key);
    this.total -= bytesOf(key, found);
  }

  get size(): number {
    return this.entries.size;
  }

  get bytes(): number {
    return this.total;
  }
}

/**
 * Serves reads that are the same for all callers. Responses of the catalog are cached as bytes, and reused only after a check
 * that begins after the request arrived. Those that change too often, like the inventory, are not cached; concurrent requests
 * share a read. So no client sees anything older than what any client has seen before, through any gateway
 * (docs/decisions/cached-reads.md).
 */
@Injectable()
export class CachedReads {
  private readonly cache: ReadCache;
  readonly versions: CatalogVersions;
  /** Reads in flight, by cache key. */
  private readonly pending = new Map<string, CoalescedRead<CachedResponse>>();
  private hits = 0;
  private misses = 0;

  constructor(
    private readonly forwarder: RpcForwarder,
    private readonly limiter: ConcurrencyLimiter,
    @Inject(GATEWAY_OPTIONS) { readCacheMib }: Pick<GatewayOptions, 'readCacheMib'>,
    metrics: Registry,
  ) {
    this.cache = new ReadCache(readCacheMib * 1024 * 1024);
    this.versions = new CatalogVersions((operation) => forwarder.readShared(operation, {}));
    this.observe(metrics);
  }

  /** Sends a plant or a page of plants. @param query a page's query parameters, for the link to the next page */
  async sendCached<Payload>(
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
    const read = async (): Promise<CachedResponse> => {
      const answer = await this.forwarder.readShared(operation, parameters, request);
      const { next } = answer;
      return toCached(answer, query && next !== undefined ? this.forwarder.nextLink(request, query, next) : undefined);
    };
    // Takes the turn first: others share the read, so it must not wait for this client's.
    sendCached(request, reply, await this.limiter.inTurn(request.slot, weightOf(request), () => this.fetchShared(key, read)));
  }

  /** Returns a handler whose concurrent requests share a read. */
  coalescing(operation: Operation<object, unknown>): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
    const read = new CoalescedRead(async () => toCached(await this.forwarder.readShared(operation, {}), undefined));
    return async (request, reply) => sendCached(request, reply, await read.get());
  }

  /** Reads once for concurrent requests with the same key, and caches the response. */
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
    gauge(metrics, 'read_cache_bytes', 'Bytes of cached responses', () => this.cache.bytes);
    gauge(metrics, 'read_cache_answers', 'Cached responses', () => this.cache.size);
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
    counter('read_cache_hits_total', 'Requests answered from the cache', () => this.hits);
    counter('read_cache_misses_total', 'Requests answered by the catalog', () => this.misses);
    counter('read_cache_checks_total', 'Revalidations, each shared by concurrent requests', () => this.versions.checks);
  }
}

function sendCached(request: FastifyRequest, reply: FastifyReply, { payload, etag, link }: CachedResponse): void {
  if (link !== undefined) reply.header('link', link);
  sendJson(request, reply, payload, etag);
}

/** Copies the payload, which is a slice of a batch of answers: caching the slice would retain the whole batch. */
function toCached({ payload, version, stamp }: RawAnswer, link: string | undefined): CachedResponse {
  const copy = Buffer.allocUnsafeSlow(payload.length);
  copy.set(payload);
  return { payload: copy, etag: version === undefined ? undefined : etagOf(version, copy), link, stamp };
}
