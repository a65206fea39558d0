import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { unavailable } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { CATALOG_OPTIONS, type CatalogOptions, type ImageStoreName } from '../options.js';
import type { ImageStore } from './image-store.js';
import { PostgresImageStore } from './postgres-image-store.js';

/** The image stores that are configured. One of them takes new images. */
@Injectable()
export class ImageStores implements OnModuleInit, OnApplicationShutdown {
  private readonly stores = new Map<ImageStoreName, ImageStore>();

  constructor(
    @Inject(CATALOG_OPTIONS) private readonly options: Pick<CatalogOptions, 'imageStore' | 's3'>,
    private readonly database: Database,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    this.stores.set('postgres', new PostgresImageStore(this.database));
    const { s3 } = this.options;
    if (!s3) return;
    // Imported only if a bucket is configured: the client costs 80 ms and 34 MiB (Node 24).
    const { S3ImageStore } = await import('./s3-image-store.js');
    this.stores.set('s3', new S3ImageStore(s3, this.logger));
  }

  onApplicationShutdown(): void {
    for (const store of this.stores.values()) store.close?.();
  }

  /** The store for new images. */
  get chosen(): ImageStoreName {
    return this.options.imageStore;
  }

  get names(): ImageStoreName[] {
    return [...this.stores.keys()];
  }

  /** Returns the store that holds an image. @throws CodedError `unavailable` if that store is not configured */
  of({ store }: { readonly store: ImageStoreName }): ImageStore {
    const found = this.stores.get(store);
    if (found) return found;
    this.logger.warn({ store }, 'image store not configured');
    throw unavailable('The image store');
  }
}
