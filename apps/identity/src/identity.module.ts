import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { identity } from '@plant-shop/contracts/identity';
import { Cipher } from '@plant-shop/platform/cipher';
import { auditControllerOf } from '@plant-shop/platform/patterns/audit-log';
import { IdempotentResultsSweeper } from '@plant-shop/platform/patterns/idempotent-results';
import { counter, gauge } from '@plant-shop/platform/service/metrics';
import type { Service, ServiceConfig } from '@plant-shop/platform/service/service';
import { AccountPage } from './account/account-page.js';
import { OwnData } from './account/own-data.js';
import { ApiKeysController, ApiKeysService } from './api-keys/api-keys.service.js';
import { type IdentityConfig, toOptions } from './config.js';
import { CredentialsController, CredentialsService, CredentialUses } from './credentials/credentials.service.js';
import { DatabaseClock } from './database-clock.js';
import { identityDatabase } from './database.js';
import { DemoData } from './demo/demo-data.js';
import { OneTimeCodes } from './factors/codes.js';
import { Factors } from './factors/factors.service.js';
import { Passkeys } from './factors/passkeys.js';
import { LoginAttempts } from './users/login-attempts.js';
import { RecentLogin } from './users/recent-login.js';
import { SessionsController, SessionsService } from './sessions/sessions.service.js';
import { AccountForms } from './oauth/account-forms.js';
import { Adapters } from './oauth/adapters.js';
import { BrowserSessions } from './oauth/browser-sessions.js';
import { ClientSecrets } from './oauth/client-secrets.js';
import { FactorForms } from './oauth/factor-forms.js';
import { FormGuard } from './oauth/form-guard.js';
import { GrantsService } from './grants/grants.service.js';
import { Interactions } from './oauth/interactions.js';
import { LogInSteps } from './oauth/log-in-steps.js';
import { OAuthClientsController } from './oauth/oauth-clients.controller.js';
import { OAuthClientsService } from './oauth/oauth-clients.service.js';
import { OAuthServer } from './oauth/oauth-server.js';
import { HOSTED_PAGES, type HostedPages } from './oauth/pages.js';
import { ReencryptionJob } from './oauth/reencryption-job.js';
import { SigningKeysController, SigningKeysService } from './oauth/signing-keys.service.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from './options.js';
import { COMMON_PASSWORDS, commonPasswords, noPasswords } from './passwords/common-passwords.js';
import { PasswordHasher } from './passwords/password-hasher.js';
import { ReconcileController, ReconcileService } from './reconcile/reconcile.js';
import { RevocationsController, RevocationsService } from './revocations/revocations.js';
import { SandboxController, SandboxService } from './sandbox/sandbox.js';
import { identityCipher } from './secrets/secrets.js';
import { MailSender } from './mail/mail-sender.js';
import { MailOutbox } from './mail/outbox.js';
import { Sweeper } from './sweeper.js';
import { EmailVerification, EmailVerificationController } from './users/email-verification.service.js';
import { Recovery, RecoveryController } from './users/recovery.service.js';
import { UserDeletionsService } from './users/user-deletions.service.js';
import { UserFactors, UserFactorsController } from './users/user-factors.service.js';
import { UsersController } from './users/users.controller.js';
import { UsersService } from './users/users.service.js';

@Module({})
class IdentityModule {
  static with(options: IdentityOptions, secrets: readonly string[]): DynamicModule {
    return {
      module: IdentityModule,
      controllers: [
        UsersController,
        EmailVerificationController,
        RecoveryController,
        UserFactorsController,
        SessionsController,
        ApiKeysController,
        CredentialsController,
        RevocationsController,
        SigningKeysController,
        OAuthClientsController,
        ReconcileController,
        auditControllerOf(identity.readAudit),
        ...(options.sandbox ? [SandboxController] : []),
      ],
      providers: [
        { provide: IDENTITY_OPTIONS, useValue: options },
        {
          provide: COMMON_PASSWORDS,
          useFactory: () =>
            options.refuseCommonPasswords ? commonPasswords(options.passwordMinLength) : noPasswords,
        },
        { provide: PasswordHasher, useFactory: () => PasswordHasher.create(options.hashingCost) },
        DatabaseClock,
        UsersService,
        EmailVerification,
        Recovery,
        MailOutbox,
        MailSender,
        UserDeletionsService,
        ReconcileService,
        SessionsService,
        LoginAttempts,
        RecentLogin,
        Factors,
        Passkeys,
        OneTimeCodes,
        UserFactors,
        ApiKeysService,
        CredentialUses,
        CredentialsService,
        RevocationsService,
        ...(options.sandbox ? [SandboxService] : []),
        { provide: Cipher, useValue: identityCipher(secrets) },
        SigningKeysService,
        Adapters,
        OAuthClientsService,
        ClientSecrets,
        GrantsService,
        BrowserSessions,
        FormGuard,
        Interactions,
        LogInSteps,
        FactorForms,
        AccountForms,
        OwnData,
        AccountPage,
        { provide: HOSTED_PAGES, useFactory: (...pages: HostedPages[]) => pages, inject: [Interactions, AccountForms, FactorForms, AccountPage] },
        OAuthServer,
        DemoData,
        ReencryptionJob,
        Sweeper,
        IdempotentResultsSweeper,
      ],
    };
  }
}

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
  app.get(LoginAttempts).onFailure = counter(
    service.metrics,
    'identity_login_failures_total',
    'Wrong passwords, codes and client secrets (wrong), and attempts beyond the limits (blocked)',
    'outcome',
  );
  app.get(Passkeys).onRefusal = counter(
    service.metrics,
    'identity_passkeys_refused_total',
    'Passkeys that were refused, by reason; counter: there is a copy of the passkey, which was locked',
    'reason',
    ['counter'],
  );
  app.get(Factors).onChange = counter(service.metrics, 'identity_factors_total', 'Second factors that were added and removed', 'change');
  app.get(AccountPage).onChange = counter(service.metrics, 'identity_account_changes_total', 'Changes that users made on the page of their account', 'change');
  const countIdle = counter(service.metrics, 'identity_sessions_ended_total', 'Sessions that the shop ended, by reason: idle, nobody used them', 'reason');
  app.get(Sweeper).onIdleSession = () => countIdle('idle');
  const hasher = app.get(PasswordHasher);
  gauge(
    service.metrics,
    'identity_hashes_waiting',
    'Passwords waiting for a hashing slot',
    () => hasher.waiting,
  );
  const sender = app.get(MailSender);
  gauge(service.metrics, 'identity_oldest_mail_seconds', 'How long the oldest mail has waited for notifications, in seconds', () => sender.oldestSeconds);
  const reencryption = app.get(ReencryptionJob);
  gauge(
    service.metrics,
    'identity_secrets_to_reencrypt',
    'Signing keys, OAuth state, secrets of authenticator apps and waiting mails not encrypted with the current secret',
    () => reencryption.remaining,
  );
  return app.get(OAuthServer);
}
