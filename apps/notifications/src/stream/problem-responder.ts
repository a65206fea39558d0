import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../options.js';
import { StreamMetrics } from './metrics.js';
import { isDefect, pathOf, sendProblem } from './problems.js';

/** Answers failed requests with problem documents, counts them, and logs defects. */
@Injectable()
export class ProblemResponder {
  constructor(
    private readonly metrics: StreamMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  refuse(error: unknown, request: IncomingMessage, response: ServerResponse, requestId: string): void {
    if (isDefect(error)) this.logger.error({ err: error, requestId }, 'defect');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const code = sendProblem(error, { publicUrl: this.options.publicUrl, requestId, instance: pathOf(request) }, response);
    this.metrics.refusals.inc({ code });
  }
}
