import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendProblem } from './problem.js';

/** Answers every error of hooks and handlers with a problem document; Nest's own error bodies echo URLs. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly parts: { readonly publicUrl: string; readonly logger: Logger }) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendProblem(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), this.parts);
  }
}
