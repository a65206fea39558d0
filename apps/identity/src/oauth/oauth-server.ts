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
import { requestIdOf } from '@plant-shop/platform/request-id';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { ConnectionDrain } from '@plant-shop/platform/service/connection-drain';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { DatabaseClock } from '../credentials/database-clock.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { permissionsOfRole } from '@plant-shop/contracts/permissions';
import { Database } from '@plant-shop/platform/postgres/database';
import { findUserById } from '../users/users.repository.js';
import { accessTokenReader } from './access-token.js';
import { Adapters } from './adapters.js';
import { BrowserLogins } from './browser-logins.js';
import { ClientSecrets } from './client-secrets.js';
import { Interactions } from './interactions.js';
import { createProvider } from './provider.js';
import type { KeyRing } from './signing-key.js';
import { SigningKeysService } from './signing-keys.service.js';

/** Below the limit of the phase that stops background work. */
const closeLimitMs = 2_000;

/** Serves the OAuth 2.0 pages to the gateway, under whose origin clients see them. */
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
    private readonly logins: BrowserLogins,
    private readonly interactions: Interactions,
    private readonly clock: DatabaseClock,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
    @InjectLogger() private readonly logger: Logger,
  ) {
    const loop = { name: 'signing keys', intervalMs: options.keysLookMs };
    this.loop = new BackgroundLoop(loop, () => this.look(), logger);
  }

  /** Before any loop starts: what cannot be served, for want of its keys or its port, ends the start here. */
  async onModuleInit(): Promise<void> {
    const { publicUrl, http } = this.options;
    await this.clock.look();
    this.serve(await this.keys.open());
    this.server = createServer(
      { ServerResponse: this.connections.ServerResponse, requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 65_000, maxHeaderSize: 16_384 },
      underPublicUrl(publicUrl, (request, response) => this.served?.handle(request, response)),
    );
    this.server.listen(http.port, http.host);
    await once(this.server, 'listening');
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  /** Before calls stop being answered: gateways keep connections, and send requests on them until they hear of the end. */
  async announceEnd(): Promise<void> {
    if (this.server) await this.connections.announce(this.server);
  }

  /** Answers what is under way, and ends connections that are kept alive afterwards. */
  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    const { server } = this;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    await this.connections.finish(server, closeLimitMs);
    server.closeAllConnections();
    await closed;
  }

  get port(): number {
    return (this.server?.address() as AddressInfo | null)?.port ?? 0;
  }

  private async look(): Promise<boolean> {
    const keys = this.served && (await this.keys.changed(this.served.keys));
    if (keys) this.serve(keys);
    return false;
  }

  /**
   * From the next request on. A provider has its keys for life, and no state: requests under way end on the one before.
   */
  private serve(keys: KeyRing): void {
    const { publicUrl, sessionTtlHours } = this.options;
    const readToken = accessTokenReader(publicUrl, keys, () => this.clock.now());
    const provider = createProvider({
      publicUrl,
      keys,
      sessionTtlHours,
      adapterOf: (model) => this.adapters.of(model, readToken),
      isSecretRight: (hash, secret, address) => this.secrets.isRight(hash, secret, address),
      userOf: async (userId) => {
        const user = await findUserById(this.database, userId);
        return user && { username: user.username, permissions: permissionsOfRole[user.role] };
      },
      isLoggedIn: (login) => this.logins.isLive(login),
      clock: this.clock,
    });
    this.interactions.serveOn(provider);
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

/** What the provider takes for a defect, because it does not know our codes. */
function answerCoded(ctx: KoaContextWithOIDC, error: CodedError): void {
  const { retryAfter } = error.details;
  ctx.status = error.code === 'too-many-logins' ? 429 : 503;
  ctx.set('Retry-After', String(typeof retryAfter === 'number' ? retryAfter : 1));
  ctx.body = { error: 'temporarily_unavailable', error_description: error.message };
}

function handlerOf(provider: Provider): RequestListener {
  const handle = provider.callback();
  // Koa answers every failure itself: this promise never rejects.
  return (request, response) => void handle(request, response);
}

/**
 * The provider builds the addresses in its answers from the request. Ours are those of PUBLIC_URL, whatever a Host
 * header or an absolute request target says.
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
