import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { Database } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Cipher } from '@plant-shop/platform/cipher';
import { countMailsOfFormerSecrets } from '../mail/mail-sender.js';
import { OneTimeCodes } from '../factors/codes.js';
import { Adapters } from './adapters.js';
import { SigningKeysService } from './signing-keys.service.js';

/** Re-encrypts signing keys, OAuth state and secrets of authenticator apps with the current secret after IDENTITY_SECRET has changed. Mails in the outbox are only counted: they leave. */
@Injectable()
export class ReencryptionJob extends BackgroundLoop {
  /** Rows that are not yet encrypted with the current secret, as of the last run. */
  remaining = 0;

  constructor(
    private readonly keys: SigningKeysService,
    private readonly adapters: Adapters,
    private readonly codes: OneTimeCodes,
    private readonly database: Database,
    private readonly cipher: Cipher,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 're-encryption', intervalMs: 60_000 }, () => this.reencrypt(), logger);
  }

  private async reencrypt(): Promise<boolean> {
    const mails = await countMailsOfFormerSecrets(this.database, this.cipher.keyId);
    this.remaining = mails + (await this.keys.reencrypt()) + (await this.adapters.reencrypt()) + (await this.codes.reencrypt());
    return false;
  }
}
