import { Injectable } from '@nestjs/common';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { ImageStores } from './image-stores.js';
import { deleteImage, discardImages, leaseDiscarded } from './images.repository.js';

/** Age at which an unfinished upload is discarded. */
const unfinishedHours = 1;
/** Images are removed one after the other, all within the batch's lease of 5 minutes. */
const batch = 10;
const removalMs = 20_000;

/** Removes abandoned uploads and the images of deleted plants: first the content, then the row. */
@Injectable()
export class ImageSweeper extends BackgroundLoop {
  constructor(database: Database, stores: ImageStores, @InjectLogger() logger: Logger) {
    super({ name: 'sweep images', intervalMs: 60_000 }, () => sweepImages(database, stores, logger), logger);
  }
}

/** Sweeps one batch. @returns whether there may be more */
export async function sweepImages(database: Database, stores: ImageStores, logger: Logger): Promise<boolean> {
  const discarded = await database.transaction((tx) => discardImages(tx, unfinishedHours, batch));
  const due = await database.transaction((tx) => leaseDiscarded(tx, stores.names, batch));
  for (const image of due) {
    await stores.of(image).remove(Deadline.in(removalMs), image.id, image.chunks);
    await database.transaction((tx) => deleteImage(tx, image.id));
  }
  if (discarded + due.length > 0) logger.info({ discarded, removed: due.length }, 'images swept');
  return discarded === batch || due.length === batch;
}
