import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { type ProblemOrigin, problemResponse } from '@plant-shop/contracts/problem';
import { CodedError } from '@plant-shop/platform/errors';
import { pathOf } from '@plant-shop/platform/http/request';
import { responseHeaders } from '@plant-shop/platform/http/security-headers';
import type { Logger } from '@plant-shop/platform/logging';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';
import { StreamMetrics } from '../metrics.js';
import { retryAfterSeconds } from '../subscribers/reconnect.js';

/** Returns the default headers of every response of the stream that has a body. */
export const streamHeaders = ({ stream, sandbox }: NotificationsOptions): Readonly<Record<string, string>> => responseHeaders(stream.publicUrl, 'no-store', sandbox);

/** Answers failed requests with problem documents, counts them, and logs defects. */
@Injectable()
export class ProblemResponder {
  /** What all problems of the stream share. */
  readonly origin: ProblemOrigin;

  constructor(
    private readonly metrics: StreamMetrics,
    @Inject(NOTIFICATIONS_OPTIONS) options: NotificationsOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.origin = { publicUrl: options.publicUrl, headers: streamHeaders(options) };
  }

  /** Writes to Node's response: before an upgrade to WebSocket it has no other. */
  refuse(error: unknown, request: IncomingMessage, response: ServerResponse, requestId: string): void {
    const { code, status, headers, body, isDefect } = problemResponse(error instanceof CodedError ? error : new CodedError('internal', ''), {
      ...this.origin,
      requestId,
      instance: pathOf(request.url ?? '/'),
      retryAfterSeconds: retryAfterSeconds(Math.random()),
    });
    if (isDefect) this.logger.error({ err: error, requestId }, 'defect');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.writeHead(status, { ...headers, connection: 'close' }).end(body);
    this.metrics.refusals.inc({ code });
  }
}
