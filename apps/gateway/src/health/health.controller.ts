import { Controller, Get, Inject, Res } from '@nestjs/common';
import { shop } from '@plant-shop/contracts/shop';
import type { FastifyReply } from 'fastify';
import { Serves, Undocumented } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../options.js';
import { ShopReadiness } from './shop-readiness.js';

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
