import { Injectable } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { Gauge, Registry } from 'prom-client';
import { credentialsPurpose } from './destination.js';
import { findAllDestinations, reencryptCredentials } from './destinations.repository.js';

const intervalMs = 15_000;

/** Metrics of destinations, also while no replica publishes to them. Encrypts credentials again that have a former key. */
@Injectable()
export class DestinationUpkeep extends BackgroundLoop {
  private readonly behind: Gauge<'destination'>;
  private readonly held: Gauge<'destination' | 'reason'>;
  private readonly outdated: Gauge;

  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    metrics: Registry,
    @InjectLogger() logger: Logger,
  ) {
    super({ name: 'look after destinations', intervalMs }, () => this.lookAfter(), logger);
    const registers = [metrics];
    this.behind = new Gauge({
      name: 'destination_behind_seconds',
      help: 'Time since the first event was logged that an enabled destination does not have',
      labelNames: ['destination'],
      registers,
    });
    this.outdated = new Gauge({ name: 'destination_secrets_to_reencrypt', help: 'Credentials of destinations that are encrypted with a former key', registers });
    this.held = new Gauge({ name: 'destination_held', help: 'Always 1: why nothing is published to an enabled destination', labelNames: ['destination', 'reason'], registers });
  }

  private async lookAfter(): Promise<boolean> {
    let destinations = await findAllDestinations(this.database);
    const outdated = (): number => destinations.filter(({ keyId }) => keyId !== null && keyId !== this.cipher.keyId).length;
    if (outdated() > 0) {
      await this.database.transaction((tx) => reencryptCredentials(tx, this.cipher.keyId, ({ id, encrypted }) => this.cipher.reencrypt(encrypted, credentialsPurpose(id))));
      destinations = await findAllDestinations(this.database);
    }
    this.outdated.set(outdated());
    this.behind.reset();
    this.held.reset();
    for (const { id, state, behindSeconds, heldReason } of destinations) {
      if (state !== 'enabled') continue;
      this.behind.set({ destination: id }, behindSeconds);
      if (heldReason) this.held.set({ destination: id, reason: heldReason }, 1);
    }
    return false;
  }
}
