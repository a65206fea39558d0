import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { unavailable } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { constraintOf } from '@plant-shop/platform/postgres/sqlstate';
import type { Deadline } from '@plant-shop/platform/rpc/context';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { CATALOG_OPTIONS, type CatalogOptions, type ImageStoreName } from '../config.js';
import { uploadNotFound } from './image.js';

/** Storage for the content of images, in the chunks in which it was uploaded. The table `images` records which chunks must exist. */
export interface ImageStore {
  /**
   * Writes a chunk, replacing an earlier one with the same index. A failed write may still take effect later.
   * @throws CodedError `unavailable`; DomainError `upload-not-found` if the upload no longer exists
   */
  write(deadline: Deadline, imageId: string, index: number, data: Uint8Array): Promise<void>;
  /** Reads a chunk; undefined: it does not exist. @throws CodedError `unavailable` */
  read(deadline: Deadline, imageId: string, index: number): Promise<Buffer | undefined>;
  /**
   * Removes chunks 0 to `chunks - 1`; missing ones are no error.
   * @throws CodedError `unavailable`
   */
  remove(deadline: Deadline, imageId: string, chunks: number): Promise<void>;
  /** Closes connections that this store opened. */
  close?(): void;
}

/** Stores chunks as rows in the catalog's database, so its backup contains them. Ignores deadlines: statements have their own limit. */
class PostgresImageStore implements ImageStore {
  constructor(private readonly database: Database) {}

  async write(_: Deadline, imageId: string, index: number, data: Uint8Array): Promise<void> {
    try {
      await this.database.query(
        {
          name: 'write-image-chunk',
          text: `INSERT INTO image_chunks (image_id, index, data) VALUES ($1, $2, $3)
                 ON CONFLICT (image_id, index) DO UPDATE SET data = excluded.data`,
        },
        [imageId, index, data],
      );
    } catch (error) {
      if (constraintOf(error) === 'image_chunks_image_id_fkey') throw uploadNotFound();
      throw error;
    }
  }

  async read(_: Deadline, imageId: string, index: number): Promise<Buffer | undefined> {
    const [chunk] = await this.database.query<{ data: Buffer }>(
      { name: 'read-image-chunk', text: 'SELECT data FROM image_chunks WHERE image_id = $1 AND index = $2' },
      [imageId, index],
    );
    return chunk?.data;
  }

  async remove(_: Deadline, imageId: string): Promise<void> {
    await this.database.query('DELETE FROM image_chunks WHERE image_id = $1', [imageId]);
  }
}

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
