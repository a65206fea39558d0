import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Adapters } from './adapters.js';
import { SigningKeysService } from './signing-keys.service.js';

/** When the secret has changed, encrypts with the present one what a former one did. */
@Injectable()
export class SealingAnew extends BackgroundLoop {
  /** Signing keys and OAuth state that another secret encrypted, as of the last run. */
  left = 0;

  constructor(
    private readonly keys: SigningKeysService,
    private readonly adapters: Adapters,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'seal anew', intervalMs: 60_000 }, () => this.sealAnew(), logger);
  }

  private async sealAnew(): Promise<boolean> {
    this.left = (await this.keys.sealAnew()) + (await this.adapters.sealAnew());
    return false;
  }
}
