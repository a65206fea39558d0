import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { problemOf } from '@plant-shop/contracts/problem';
import { CodedError } from '@plant-shop/platform/errors';
import { pathOf } from '@plant-shop/platform/http/path-of';
import { securityHeaders } from '@plant-shop/platform/http/security-headers';
import type { Logger } from '@plant-shop/platform/logging';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { StreamMetrics } from '../metrics.js';
import { retryAfterSeconds } from '../subscribers/reconnect.js';

/** Headers of every response with a body. */
export const defaultHeaders = { 'cache-control': 'no-store', ...securityHeaders } as const;

/** Answers failed requests with problem documents, counts them, and logs defects. */
@Injectable()
export class ProblemResponder {
  constructor(
    private readonly metrics: StreamMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) private readonly options: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /** Writes to Node's response: before an upgrade to WebSocket it has no other. */
  refuse(error: unknown, request: IncomingMessage, response: ServerResponse, requestId: string): void {
    const { code, status, headers, body } = problemOf(error instanceof CodedError ? error : new CodedError('internal', ''), {
      publicUrl: this.options.publicUrl,
      requestId,
      instance: pathOf(request.url ?? '/'),
      retryAfterSeconds: retryAfterSeconds(Math.random()),
    });
    if (status === 500) this.logger.error({ err: error, requestId }, 'defect');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.writeHead(status, {
      ...defaultHeaders,
      ...headers,
      'content-type': 'application/problem+json; charset=utf-8',
      'x-request-id': requestId,
      connection: 'close',
    });
    response.end(body);
    this.metrics.refusals.inc({ code });
  }
}
