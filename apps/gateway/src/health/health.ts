import { Controller, Get, Inject, Injectable, Res } from '@nestjs/common';
import { shop } from '@plant-shop/contracts/shop';
import { RevocationLog } from '@plant-shop/credentials/revocation-log';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { Deadline, RpcContext } from '@plant-shop/platform/rpc/context';
import { Readiness, readinessOf, type ReadinessReport } from '@plant-shop/platform/service/readiness';
import type { FastifyReply } from 'fastify';
import { Serves, Undocumented } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';

export interface ShopReport {
  readonly ready: boolean;
  /** Per service: `ready`, or why not. */
  readonly services: Readonly<Record<string, string>>;
}

const others = ['catalog', 'store', 'identity', 'notifications'] as const;
const budgetMs = 1_500;
/** The endpoint is public, and each report costs a call to every service. */
const cacheMs = 250;

/** Reports whether the whole shop is ready. Requests share a report for up to 250 ms. */
@Injectable()
export class ShopReadiness {
  private cached: { readonly at: number; readonly report: Promise<ShopReport> } | undefined;

  constructor(
    private readonly rpc: RpcClient,
    private readonly own: Readiness,
    private readonly revocations: RevocationLog,
  ) {}

  report(): Promise<ShopReport> {
    const now = performance.now();
    if (!this.cached || now - this.cached.at > cacheMs) this.cached = { at: now, report: this.checkAll() };
    return this.cached.report;
  }

  private async checkAll(): Promise<ShopReport> {
    const own = this.withRevocations(await this.own.report());
    const states = await Promise.all(others.map(async (service) => [service, await this.stateOf(service)] as const));
    const services = { gateway: own.ready ? 'ready' : failedChecks(own.checks), ...Object.fromEntries(states) };
    return { ready: Object.values(services).every((state) => state === 'ready'), services };
  }

  /**
   * Adds whether the revocation log is fresh, without which credentials are refused; after an outage of identity, that is a
   * moment after identity answers again. The process's own readiness leaves this check out: otherwise an outage of identity
   * would take the catalogue down too, which needs no credentials.
   */
  private withRevocations({ ready, checks }: ReadinessReport): ReadinessReport {
    const { isFresh } = this.revocations;
    return { ready: ready && isFresh, checks: { ...checks, revocations: isFresh ? 'ok' : 'not followed' } };
  }

  private async stateOf(service: string): Promise<string> {
    const deadline = Deadline.in(budgetMs);
    try {
      const context = new RpcContext('readiness', deadline);
      const { ready, checks } = await this.rpc.call(readinessOf(service), {}, context);
      return ready ? 'ready' : failedChecks(checks);
    } catch {
      // The reason is in that service's own log.
      return deadline.isPast ? `slow: no answer in ${budgetMs / 1_000} s` : 'no answer';
    }
  }
}

/** Names only, since the texts of checks may reveal internals. */
const failedChecks = (checks: Readonly<Record<string, string>>): string =>
  `not ready: ${Object.entries(checks).flatMap(([name, state]) => (state === 'ok' ? [] : [name])).join(', ')}`;

@Controller()
export class HealthController {
  constructor(
    private readonly readiness: ShopReadiness,
    @Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions,
  ) {}

  @Get(['', 'v3'])
  @Undocumented()
  overview(@Res() reply: FastifyReply): void {
    const { publicUrl } = this.options;
    void reply.send({
      api: `${publicUrl}/v3`,
      reference: `${publicUrl}/docs`,
      openapi: `${publicUrl}/v3/openapi.json`,
      ready: `${publicUrl}/readyz`,
      problems: `${publicUrl}/problems`,
    });
  }

  /** Answers as long as this process runs its event loop. */
  @Serves(shop.live)
  live(@Res() reply: FastifyReply): void {
    void reply.send({ live: true });
  }

  /** Answers 200 when every service of the shop is ready, else 503. */
  @Serves(shop.ready)
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.readiness.report();
    void reply.code(report.ready ? 200 : 503).header('cache-control', 'no-store').send(report);
  }
}
