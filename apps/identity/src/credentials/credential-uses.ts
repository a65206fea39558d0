import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { touchKeys } from '../api-keys/api-keys.repository.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { touchSessions } from '../sessions/sessions.repository.js';

const touch = { apiKey: touchKeys, session: touchSessions };
type Kind = keyof typeof touch;
const kinds: readonly Kind[] = ['apiKey', 'session'];

/** Collects which keys and sessions were used and writes `lastUsedAt` once a second, so that checks never wait for a write. */
@Injectable()
export class CredentialUses extends BackgroundLoop {
  private used: Readonly<Record<Kind, Set<string>>> = { apiKey: new Set(), session: new Set() };

  constructor(
    private readonly database: Database,
    @Inject(IDENTITY_OPTIONS) options: IdentityOptions,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'credential uses', intervalMs: options.usesIntervalMs }, () => this.write(), logger);
  }

  override async onApplicationShutdown(): Promise<void> {
    await this.stop();
    await this.write();
  }

  record(kind: Kind, id: string): void {
    this.used[kind].add(id);
  }

  /** Uses are lost when the write fails; the next use records them again. */
  private async write(): Promise<boolean> {
    const { used } = this;
    this.used = { apiKey: new Set(), session: new Set() };
    for (const kind of kinds) {
      const ids = [...used[kind]];
      if (ids.length > 0) await this.database.transaction((tx) => touch[kind](tx, ids));
    }
    return false;
  }
}
