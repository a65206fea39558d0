import type { INestApplicationContext } from '@nestjs/common';
import { gauge } from '@plant-shop/platform/service/metrics';
import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import type { IdentityConfig } from './config.js';
import { identityDatabase } from './database.js';
import { IdentityModule } from './identity.module.js';
import { OAuthServer } from './oauth/oauth-server.js';
import { SealingAnew } from './oauth/sealing-anew.js';
import { type IdentityOptions, toOptions } from './options.js';
import { PasswordHasher } from './passwords/password-hasher.js';

/**
 * @param changed what a test needs to be other than the settings make it
 * @returns where the OAuth 2.0 pages are served
 */
export async function startIdentity(
  service: Service,
  config: Omit<IdentityConfig, keyof ServiceConfig>,
  changed: Partial<IdentityOptions> = {},
): Promise<{ readonly httpPort: number }> {
  await service.useDatabase(identityDatabase(config, config.databasePoolSize));
  const options = { ...toOptions(config), ...changed };
  const up: { app?: INestApplicationContext } = {};
  // Before calls are finished, and while the service may still be coming up.
  service.beforeClose({ name: 'announce the end', limitMs: 2_500, run: () => up.app?.get(OAuthServer).announceEnd() });
  const app = await service.answer(IdentityModule.with(options, config.identitySecrets), {
    maxInFlight: config.maxInFlight,
  });
  up.app = app;
  const hasher = app.get(PasswordHasher);
  gauge(
    service.metrics,
    'identity_hashes_waiting',
    'Passwords that wait for a slot to be hashed',
    () => hasher.waiting,
  );
  const sealing = app.get(SealingAnew);
  gauge(
    service.metrics,
    'identity_secrets_to_seal_anew',
    'Signing keys and OAuth state that are encrypted with another secret than the present one',
    () => sealing.left,
  );
  return { httpPort: app.get(OAuthServer).port };
}
