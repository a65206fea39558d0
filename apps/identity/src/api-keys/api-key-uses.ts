import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { touchKeys } from './api-keys.repository.js';

/** Remembers which keys were used and writes it down every second, so that no check waits for a write. */
@Injectable()
export class ApiKeyUses implements OnApplicationBootstrap, OnApplicationShutdown {
  private used = new Set<string>();
  private readonly loop: BackgroundLoop;

  constructor(
    private readonly database: Database,
    @Inject(IDENTITY_OPTIONS) options: IdentityOptions,
    @InjectLogger() logger: Logger,
  ) {
    const loop = { name: 'API key uses', intervalMs: options.keyUsesIntervalMs };
    this.loop = new BackgroundLoop(loop, () => this.write(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    await this.write();
  }

  note(id: string): void {
    this.used.add(id);
  }

  /** What cannot be written now is forgotten: the key's next use notes it again. */
  private async write(): Promise<boolean> {
    const ids = [...this.used];
    this.used = new Set();
    if (ids.length > 0) await this.database.transaction((tx) => touchKeys(tx, ids));
    return false;
  }
}
