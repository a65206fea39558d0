import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/parts.module';
import { sweepImages } from './images.repository.js';

const keptHours = 1;
const batch = 10;

/** Removes what was uploaded and never finished, and what belonged to plants that are gone. */
@Injectable()
export class ImageSweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: BackgroundLoop;

  constructor(
    private readonly database: Database,
    @InjectLogger() private readonly logger: Logger,
  ) {
    this.loop = new BackgroundLoop({ name: 'sweep images', intervalMs: 60_000 }, () => this.run(), logger);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** One batch. @returns whether there may be more */
  async run(): Promise<boolean> {
    const swept = await this.database.transaction((tx) => sweepImages(tx, keptHours, batch));
    if (swept > 0) this.logger.info({ swept }, 'images swept');
    return swept === batch;
  }
}
