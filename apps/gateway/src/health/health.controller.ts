import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Route } from '../http/route.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../options.js';
import { ShopReadiness } from './shop-readiness.js';

@Controller()
export class HealthController {
  constructor(
    private readonly readiness: ShopReadiness,
    @Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions,
  ) {}

  @Get(['', 'v3'])
  @Route()
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
  @Get('livez')
  @Route()
  live(@Res() reply: FastifyReply): void {
    void reply.send({ live: true });
  }

  /** Answers 200 when every service of the shop is ready, else 503. */
  @Get('readyz')
  @Route()
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.readiness.report();
    void reply.code(report.ready ? 200 : 503).header('cache-control', 'no-store').send(report);
  }
}
