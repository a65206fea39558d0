import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Req, Res } from '@nestjs/common';
import { catalog, longestWaitSeconds } from '@plant-shop/contracts/catalog';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageOf, queryInteger } from '../http/input.js';
import { Serves } from '../http/route.js';
import { RpcForwarder, sendJson } from '../http/rpc-forwarder.js';
import { CachedReads } from '../reads/cached-reads.js';

/** The most requests that wait here. Further ones are answered at once. */
const maxWaiting = 1_000;
/** How often the catalogue's versions are checked while requests wait. */
const pollMs = 250;

/** Serves the changes of plants. A request waits here, for a change of the catalogue's versions, and occupies no call and no connection of the catalog. */
@Controller()
export class PlantChangesController {
  private waiting = 0;

  constructor(
    private readonly forwarder: RpcForwarder,
    private readonly reads: CachedReads,
    private readonly drain: ConnectionDrain,
  ) {}

  @Serves(catalog.listPlantChanges.client)
  async listPlantChanges(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const parameters = pageOf(request);
    const waitSeconds = queryInteger(request, 'wait', { min: 0, max: longestWaitSeconds }) ?? 0;
    if (waitSeconds === 0 || request.method === 'HEAD' || this.waiting >= maxWaiting) return this.forwarder.forward(request, reply, catalog.listPlantChanges, parameters);
    const closed = new AbortController();
    reply.raw.once('close', () => closed.abort());
    const stop = AbortSignal.any([closed.signal, this.drain.ending, AbortSignal.timeout(waitSeconds * 1_000)]);
    this.waiting++;
    try {
      for (;;) {
        const isLast = stop.aborted;
        // Before the read: a change after it is noticed.
        const seen = await this.reads.versions.current();
        const page = await this.forwarder.call(request, catalog.listPlantChanges, parameters);
        if (page.changes.length > 0 || isLast) {
          sendJson(request, reply, Buffer.from(JSON.stringify(page)), undefined);
          return;
        }
        await this.untilChanged(seen, stop);
      }
    } finally {
      this.waiting--;
    }
  }

  private async untilChanged(seen: ReadonlySet<string>, stop: AbortSignal): Promise<void> {
    do {
      // At the same moments for all that wait, so that they share a check.
      await sleep(pollMs - (Date.now() % pollMs), undefined, { signal: stop }).catch(() => undefined);
    } while (!stop.aborted && (await this.reads.versions.current()) === seen);
  }
}
