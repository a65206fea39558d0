import { type DynamicModule, Module } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import { AnswersSweeper } from '@plant-shop/platform/idempotency/answers-sweeper';
import { ApiKeysController } from './api-keys/api-keys.controller.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { AuditController } from './audit/audit.controller.js';
import { identityCipher } from './secrets/cipher.js';
import { CredentialUses } from './credentials/credential-uses.js';
import { CredentialsController } from './credentials/credentials.controller.js';
import { CredentialsService } from './credentials/credentials.service.js';
import { DatabaseClock } from './database-clock.js';
import { DemoData } from './demo/demo-data.js';
import { Adapters } from './oauth/adapters.js';
import { BrowserSessions } from './oauth/browser-sessions.js';
import { ClientSecrets } from './oauth/client-secrets.js';
import { GrantsService } from './oauth/grants.service.js';
import { Interactions } from './oauth/interactions.js';
import { OAuthClientsController } from './oauth/oauth-clients.controller.js';
import { OAuthClientsService } from './oauth/oauth-clients.service.js';
import { OAuthServer } from './oauth/oauth-server.js';
import { ReencryptionJob } from './oauth/reencryption-job.js';
import { SigningKeysController } from './oauth/signing-keys.controller.js';
import { SigningKeysService } from './oauth/signing-keys.service.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from './options.js';
import { COMMON_PASSWORDS, commonPasswords, noPasswords } from './passwords/common-passwords.js';
import { PasswordHasher } from './passwords/password-hasher.js';
import { ReconcileController } from './reconcile/reconcile.controller.js';
import { ReconcileService } from './reconcile/reconcile.service.js';
import { RevocationsController } from './revocations/revocations.controller.js';
import { RevocationsService } from './revocations/revocations.service.js';
import { LoginAttempts } from './login/login-attempts.js';
import { SessionsController } from './login/sessions.controller.js';
import { SessionsService } from './login/sessions.service.js';
import { Sweeper } from './sweeper.js';
import { UserDeletionsService } from './users/user-deletions.service.js';
import { UsersController } from './users/users.controller.js';
import { UsersService } from './users/users.service.js';

@Module({})
export class IdentityModule {
  static with(options: IdentityOptions, secrets: readonly string[]): DynamicModule {
    return {
      module: IdentityModule,
      controllers: [
        UsersController,
        SessionsController,
        ApiKeysController,
        CredentialsController,
        RevocationsController,
        SigningKeysController,
        OAuthClientsController,
        ReconcileController,
        AuditController,
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
        UserDeletionsService,
        ReconcileService,
        SessionsService,
        LoginAttempts,
        ApiKeysService,
        CredentialUses,
        CredentialsService,
        RevocationsService,
        { provide: Cipher, useValue: identityCipher(secrets) },
        SigningKeysService,
        Adapters,
        OAuthClientsService,
        ClientSecrets,
        GrantsService,
        BrowserSessions,
        Interactions,
        OAuthServer,
        DemoData,
        ReencryptionJob,
        Sweeper,
        AnswersSweeper,
      ],
    };
  }
}
