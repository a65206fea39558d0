import { Inject, Injectable } from '@nestjs/common';
import { store } from '@plant-shop/contracts/store';
import type { RawAnswer } from '@plant-shop/platform/rpc/client';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { gauge } from '@plant-shop/platform/service/metrics';
import { CoalescedRead } from '@plant-shop/platform/coalesced-read';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Registry } from 'prom-client';
import { etagOf } from '../http/conditions.js';
import { type PageQuery, sendRead, Services, type Unvalidated } from '../http/services.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../options.js';
import { type KeptRead, KeptReads } from './kept-reads.js';
import { Stamps } from './stamps.js';

/**
 * Reads that are the same for everybody. What the catalogue answered is kept as bytes and sent again when a check, which
 * began after the request came in, finds that it still holds; the inventory, which changes with every order, is read once
 * for all who ask at the same time. So nobody sees less than anybody was shown or told before, by whichever gateway
 * (docs/decisions/cached-reads.md).
 */
@Injectable()
export class CachedReads {
  private readonly kept: KeptReads;
  private readonly stamps: Stamps;
  private readonly inventory: CoalescedRead<KeptRead>;
  /** What is being asked for, by the same keys as what is kept. */
  private readonly asked = new Map<string, CoalescedRead<KeptRead>>();
  private again = 0;
  private anew = 0;

  constructor(
    private readonly services: Services,
    @Inject(GATEWAY_OPTIONS) { readCacheMib }: Pick<GatewayOptions, 'readCacheMib'>,
    metrics: Registry,
  ) {
    this.kept = new KeptReads(readCacheMib * 1024 * 1024);
    this.stamps = new Stamps((operation) => services.read(operation, {}));
    this.inventory = new CoalescedRead(async () => toKept(await services.read(store.readInventory, {}), undefined));
    this.observe(metrics);
  }

  /** Plants, one or a page of them; `query` names a page's own parameters, for the link to the next one. */
  async passPlants<Payload>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation<Payload, unknown>,
    parameters: Unvalidated<Payload>,
    query?: PageQuery,
  ): Promise<void> {
    const key = operation.name + JSON.stringify(parameters);
    const kept = this.kept.get(key);
    if (kept?.stamp !== undefined && (await this.stamps.current()).has(kept.stamp)) {
      this.again++;
      sendRead(request, reply, kept);
      return;
    }
    this.anew++;
    sendRead(request, reply, await this.ask(key, async () => {
      const answer = await this.services.read(operation, parameters, request);
      const { next } = answer;
      return toKept(answer, query && next !== undefined ? this.services.linkTo(request, query, next) : undefined);
    }));
  }

  async passInventory(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    sendRead(request, reply, await this.inventory.get());
  }

  /** Once for all who ask the same at the same time. */
  private async ask(key: string, read: () => Promise<KeptRead>): Promise<KeptRead> {
    let asked = this.asked.get(key);
    if (!asked) {
      asked = new CoalescedRead(async () => {
        const answer = await read();
        this.kept.keep(key, answer);
        return answer;
      });
      this.asked.set(key, asked);
    }
    try {
      return await asked.get();
    } finally {
      if (asked.isIdle && this.asked.get(key) === asked) this.asked.delete(key);
    }
  }

  private observe(metrics: Registry): void {
    gauge(metrics, 'read_cache_bytes', 'Bytes of answers that are kept', () => this.kept.bytes);
    gauge(metrics, 'read_cache_answers', 'Answers that are kept', () => this.kept.size);
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
    counter('read_cache_hits_total', 'Requests that were answered with what was kept', () => this.again);
    counter('read_cache_misses_total', 'Requests for which the catalog was asked', () => this.anew);
    counter('read_cache_checks_total', 'Checks of what is kept, each for all requests of its time', () => this.stamps.checks);
  }
}

/** Copied: the bytes that came are a piece of a whole frame, which would be kept with them. */
function toKept({ payload, version, stamp }: RawAnswer, link: string | undefined): KeptRead {
  const own = Buffer.allocUnsafeSlow(payload.length);
  own.set(payload);
  return { payload: own, etag: version === undefined ? undefined : etagOf(version), link, stamp };
}
