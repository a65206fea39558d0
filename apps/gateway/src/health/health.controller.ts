import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Rule } from '../http/rule.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../options.js';
import { ShopReadiness } from './shop-readiness.js';

@Controller()
export class HealthController {
  constructor(
    private readonly readiness: ShopReadiness,
    @Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions,
  ) {}

  @Get(['', 'v3'])
  @Rule()
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

  /** This process runs its event loop. */
  @Get('livez')
  @Rule()
  live(@Res() reply: FastifyReply): void {
    void reply.send({ live: true });
  }

  /** Every service of the shop answers. */
  @Get('readyz')
  @Rule()
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.readiness.report();
    void reply.code(report.ready ? 200 : 503).header('cache-control', 'no-store').send(report);
  }
}
