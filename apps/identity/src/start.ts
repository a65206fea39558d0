import type { INestApplicationContext } from '@nestjs/common';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import { type IdentityConfig, toOptions } from './config.js';
import { identityDatabase } from './database.js';
import { IdentityModule } from './identity.module.js';
import { OAuthServer } from './oauth/oauth-server.js';
import { ReencryptionJob } from './oauth/reencryption-job.js';
import type { IdentityOptions } from './options.js';
import { PasswordHasher } from './passwords/password-hasher.js';

/**
 * Starts the service.
 * @param changed options that a test overrides
 * @returns the server of the OAuth 2.0 pages
 */
export async function startIdentity(
  service: Service,
  config: Omit<IdentityConfig, keyof ServiceConfig>,
  changed: Partial<IdentityOptions> = {},
): Promise<OAuthServer> {
  await service.useDatabase(identityDatabase(config, config.databasePoolSize));
  const options = { ...toOptions(config), ...changed };
  const up: { app?: INestApplicationContext } = {};
  // Runs before open calls finish, possibly before the app is up.
  service.beforeClose({ name: 'announce shutdown', limitMs: 2_500, run: () => up.app?.get(OAuthServer).announceShutdown() });
  const app = await service.answer(IdentityModule.with(options, config.identitySecrets), {
    maxInFlight: config.maxInFlight,
  });
  up.app = app;
  const hasher = app.get(PasswordHasher);
  gauge(
    service.metrics,
    'identity_hashes_waiting',
    'Passwords waiting for a hashing slot',
    () => hasher.waiting,
  );
  const reencryption = app.get(ReencryptionJob);
  gauge(
    service.metrics,
    'identity_secrets_to_reencrypt',
    'Signing keys and OAuth state not yet encrypted with the current secret',
    () => reencryption.remaining,
  );
  return app.get(OAuthServer);
}
