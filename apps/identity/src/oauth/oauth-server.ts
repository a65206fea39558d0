import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { CodedError } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { requestIdOf } from '@plant-shop/platform/http/request';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { DatabaseClock } from '../database-clock.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { Database } from '@plant-shop/platform/postgres/database';
import { findUserById } from '../users/users.repository.js';
import { createAccessTokenVerifier } from './access-token.js';
import { Adapters } from './adapters.js';
import { BrowserSessions } from './browser-sessions.js';
import { ClientSecrets } from './client-secrets.js';
import { HOSTED_PAGES, type HostedPages } from './pages.js';
import { servePageScriptOn } from './page-script.js';
import { createProvider } from './provider.js';
import type { KeyRing } from './signing-key.js';
import { SigningKeysService } from './signing-keys.service.js';

/** Shorter than the limit of the shutdown phase that stops background work. */
const closeLimitMs = 2_000;

/** Serves the OAuth 2.0 pages to the gateway, which publishes them under its own origin. */
@Injectable()
export class OAuthServer implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private server: Server | undefined;
  private readonly connections = new ConnectionDrain();
  private served: { readonly keys: KeyRing; readonly handle: RequestListener } | undefined;
  private readonly loop: BackgroundLoop;

  constructor(
    private readonly adapters: Adapters,
    private readonly secrets: ClientSecrets,
    private readonly keys: SigningKeysService,
    private readonly database: Database,
    private readonly browserSessions: BrowserSessions,
    @Inject(HOSTED_PAGES) private readonly pages: readonly HostedPages[],
    private readonly clock: DatabaseClock,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    const loop = { name: 'signing keys', intervalMs: options.signingKeysRefreshMs };
    this.loop = new BackgroundLoop(loop, () => this.refreshKeys(), logger);
  }

  /** Runs before any loop starts, so that unreadable keys or a port in use stop the start. */
  async onModuleInit(): Promise<void> {
    const { publicUrl, http } = this.options;
    await this.clock.refresh();
    this.serve(await this.keys.loadOrCreate());
    this.server = createServer(
      { ServerResponse: this.connections.ServerResponse, requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 65_000, maxHeaderSize: 16_384 },
      underPublicUrl(publicUrl, (request, response) => this.served?.handle(request, response)),
    );
    this.connections.watch(this.server);
    this.server.listen(http.port, http.host);
    await once(this.server, 'listening');
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  /** Announces the shutdown on kept-alive connections, on which gateways would otherwise continue to send requests. */
  async announceShutdown(): Promise<void> {
    if (this.server) await this.connections.announce();
  }

  /** Finishes open requests, then closes idle connections. */
  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    const { server } = this;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    await this.connections.finish(closeLimitMs);
    server.closeAllConnections();
    await closed;
  }

  closeIdleConnections(): void {
    this.server?.closeIdleConnections();
  }

  get port(): number {
    return (this.server?.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Signs and verifies with the keys of the database from now on. */
  async refreshKeys(): Promise<false> {
    const keys = this.served && (await this.keys.reloadIfChanged(this.served.keys));
    if (keys) this.serve(keys);
    return false;
  }

  /**
   * Serves the next requests with a new provider. A provider cannot change its keys and holds no state; open requests finish
   * on the previous one.
   */
  private serve(keys: KeyRing): void {
    const { publicUrl, sessionTtlHours } = this.options;
    const verifyToken = createAccessTokenVerifier(publicUrl, keys, () => this.clock.now());
    const provider = createProvider({
      publicUrl,
      keys,
      sessionTtlHours,
      adapterOf: (model) => this.adapters.of(model, verifyToken),
      isSecretRight: (hash, secret, address) => this.secrets.isRight(hash, secret, address),
      userOf: (userId) => findUserById(this.database, userId),
      isSessionLive: (session) => this.browserSessions.touchIfLive(session),
      endSession: (uid) => this.browserSessions.end(uid),
      successorOf: (refreshToken) => this.adapters.successorOf(refreshToken),
      clock: this.clock,
    });
    for (const pages of this.pages) pages.serveOn(provider);
    servePageScriptOn(provider);
    this.reportErrors(provider);
    this.served = { keys, handle: handlerOf(provider) };
    this.logger.info({ signing: keys.signingKid, verifying: keys.jwks.map(({ kid }) => kid) }, 'signing keys');
  }

  private reportErrors(provider: Provider): void {
    provider.on('server_error', (ctx, error) => {
      if (error instanceof CodedError) answerCoded(ctx, error);
      else this.logger.error({ err: error, path: ctx.path, requestId: requestIdOf(ctx.req) }, 'OAuth request failed');
    });
  }
}

/** Answers our coded errors, which the provider treats as unexpected. */
function answerCoded(ctx: KoaContextWithOIDC, error: CodedError): void {
  const { retryAfter } = error.details;
  ctx.status = error.code === 'too-many-logins' ? 429 : 503;
  ctx.set('Retry-After', String(typeof retryAfter === 'number' ? retryAfter : 1));
  ctx.body = { error: 'temporarily_unavailable', error_description: error.message };
}

function handlerOf(provider: Provider): RequestListener {
  const handle = provider.callback();
  // Koa handles every failure itself, so this promise never rejects.
  return (request, response) => void handle(request, response);
}

/**
 * Makes the provider build URLs with the origin of PUBLIC_URL. It builds them from the request, whose Host header or absolute
 * request target may contain anything.
 */
function underPublicUrl(publicUrl: string, listener: RequestListener): RequestListener {
  const { protocol, host } = new URL(publicUrl);
  return (request, response) => {
    if (!request.url?.startsWith('/')) {
      response.writeHead(400).end();
      return;
    }
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    request.headers['x-forwarded-host'] = host;
    listener(request, response);
  };
}
