import { type DynamicModule, Module } from '@nestjs/common';
import { CredentialChecker } from '@plant-shop/credentials/credential-checker';
import { RevocationLog, revocationLogOf } from '@plant-shop/credentials/revocation-log';
import type { Logger } from '@plant-shop/platform/logging';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import { AgentsController } from './agents/agents.js';
import { AuditController, AuditPages } from './audit/audit.js';
import { HealthController, ShopReadiness } from './health/health.js';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { ForwardedOperations } from './operations/forwarded-operations.js';
import { RequestAuthenticator } from './http/request-authenticator.js';
import { Routes } from './http/route-checks.js';
import { RpcForwarder } from './http/rpc-forwarder.js';
import { ImagesController } from './images/images.controller.js';
import { Uploads } from './images/uploads.js';
import { ConcurrencyLimiter } from './limits/concurrency-limiter.js';
import { RateLimit } from './limits/rate-limit.js';
import { SharedCounts } from './limits/shared-counts.js';
import { OAuthController } from './oauth/oauth.js';
import { DocsController } from './docs/docs.controller.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { GATEWAY_OPTIONS, type GatewayOptions } from './config.js';
import { ProblemsController } from './docs/problems.controller.js';
import { CachedReads } from './reads/cached-reads.js';
import { PlantChangesController } from './transfer/plant-changes.js';
import { TransferController, Transfers } from './transfer/transfers.js';
import { SandboxController } from './sandbox/sandbox.controller.js';
import { SessionsController } from './users/sessions.controller.js';

@Module({})
export class GatewayModule {
  static with(options: GatewayOptions, limiter: ConcurrencyLimiter, logger: Logger, drain: ConnectionDrain): DynamicModule {
    return {
      module: GatewayModule,
      controllers: [
        TransferController,
        ImagesController,
        PlantChangesController,
        SessionsController,
        OAuthController,
        AgentsController,
        AuditController,
        OpenApiController,
        DocsController,
        ProblemsController,
        HealthController,
        ...(options.sandbox ? [SandboxController] : []),
      ],
      providers: [
        { provide: GATEWAY_OPTIONS, useValue: options },
        { provide: RevocationLog, inject: [RpcClient], useFactory: (rpc: RpcClient) => revocationLogOf(rpc, logger) },
        {
          provide: RequestAuthenticator,
          inject: [RpcClient, RevocationLog, RateLimit],
          useFactory: (rpc: RpcClient, log: RevocationLog, limit: RateLimit) =>
            new RequestAuthenticator(new CredentialChecker(rpc, log, options), limit, limiter),
        },
        { provide: RateLimit, useValue: new RateLimit(options.rateLimitPerMinute) },
        SharedCounts,
        { provide: ConcurrencyLimiter, useValue: limiter },
        { provide: ConnectionDrain, useValue: drain },
        {
          provide: Routes,
          inject: [RequestAuthenticator],
          useFactory: (authenticator: RequestAuthenticator) => new Routes(authenticator, limiter),
        },
        RpcForwarder,
        CachedReads,
        Uploads,
        Transfers,
        AuditPages,
        ForwardedOperations,
        ShopReadiness,
      ],
    };
  }
}
