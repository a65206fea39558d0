import { createHash, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { catalog, type FinishImage, type ImageHead, type StoredImage, type WriteImageChunk } from '@plant-shop/contracts/catalog';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { runOnce } from '@plant-shop/platform/patterns/idempotent-results';
import type { Logger } from '@plant-shop/platform/logging';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import type { Replayed } from '@plant-shop/platform/rpc/answer';
import { Deadline, type RpcContext } from '@plant-shop/platform/rpc/context';
import { BackgroundLoop } from '@plant-shop/platform/service/background-loop';
import { InjectLogger } from '@plant-shop/platform/service/infrastructure.module';
import { CATALOG_OPTIONS, type CatalogOptions } from '../config.js';
import { plantNotFound, withPhoto } from '../plants/plant.js';
import { lockPlantByIncarnation, writePlant } from '../plants/plants.repository.js';
import { ImageStores } from './image-stores.js';
import { opaque, recognise } from './image-type.js';
import {
  checkContent,
  type ImageContent,
  imageNotFound,
  type ImageState,
  imageTypeRefused,
  isAttached,
  toHead,
  uploadedPlantGone,
  uploadNotFound,
  withChunk,
} from './image.js';
import {
  attachImage,
  deleteImage,
  discardImages,
  findImage,
  insertUpload,
  leaseDiscarded,
  lockImage,
  sealUpload,
  writeChunkBytes,
} from './images.repository.js';

@Injectable()
export class ImagesService {
  constructor(
    private readonly database: Database,
    private readonly stores: ImageStores,
    @Inject(CATALOG_OPTIONS) private readonly options: CatalogOptions,
  ) {}

  /** Begins an upload. @throws DomainError `plant-not-found` */
  async begin(plantId: number): Promise<{ uploadId: string }> {
    const uploadId = randomUUID();
    const isBegun = await this.database.transaction((tx) => insertUpload(tx, uploadId, plantId, this.stores.chosen));
    if (!isBegun) throw plantNotFound(plantId);
    return { uploadId };
  }

  /** Stores a chunk. Commits its length first, so that the row knows of every chunk that a store may hold. */
  async writeChunk({ deadline }: RpcContext, { uploadId, index, data }: WriteImageChunk): Promise<{ bytes: number }> {
    const chunk = Buffer.from(data, 'base64');
    if (index === 0 && recognise(chunk) === 'markup') throw imageTypeRefused();
    const store = await this.database.transaction(async (tx) => {
      const upload = await lockImage(tx, uploadId);
      if (!upload) throw uploadNotFound();
      await writeChunkBytes(tx, uploadId, withChunk(upload, index, chunk.length));
      return this.stores.of(upload);
    });
    await store.write(deadline, uploadId, index, chunk);
    return { bytes: chunk.length };
  }

  /**
   * Finishes an upload. Seals the content before reading it, so that the hashed and recognised bytes are those that will be served.
   * The Idempotency-Key covers plant, content and metadata, not the upload's id: a client repeats an upload under a new id.
   */
  async finish(
    context: RpcContext,
    { uploadId, additionalMetadata = '' }: FinishImage,
  ): Promise<StoredImage | Replayed> {
    const upload = await this.database.transaction((tx) => sealUpload(tx, uploadId));
    if (!upload) throw uploadNotFound();
    if (upload.incarnation === null) throw uploadedPlantGone();
    const content = isAttached(upload) ? upload : await this.examine(context.deadline, upload);
    const request = JSON.stringify([upload.incarnation, content.sha256, additionalMetadata]);
    return this.database.transaction((tx) =>
      runOnce(tx, context.idempotency?.forRequest(Buffer.from(request)), () => this.attach(tx, context, upload, content)),
    );
  }

  async get(imageId: string): Promise<ImageHead> {
    const image = await findImage(this.database, imageId);
    if (!image) throw imageNotFound();
    return toHead(image);
  }

  async readChunk({ deadline }: RpcContext, imageId: string, index: number): Promise<{ data: string }> {
    const image = await findImage(this.database, imageId);
    if (!image || index >= image.chunkBytes.length) throw imageNotFound();
    const data = await this.stores.of(image).read(deadline, imageId, index);
    if (!data) throw imageNotFound();
    return { data: data.toString('base64') };
  }

  private async attach(
    tx: Transaction,
    context: RpcContext,
    { id, incarnation }: ImageState,
    content: ImageContent,
  ): Promise<StoredImage> {
    const shown = content.contentType !== opaque.contentType;
    const stored = { imageId: id, url: `${this.options.publicUrl}/v3/images/${id}`, shown };
    // Locks the plant before the image, in the order that deleting a plant does.
    const plant = incarnation === null ? undefined : await lockPlantByIncarnation(tx, incarnation);
    if (!plant) throw uploadedPlantGone();
    const image = await lockImage(tx, id);
    if (!image) throw uploadNotFound();
    if (isAttached(image)) return stored;
    await attachImage(tx, id, content);
    audit(tx, actorOf(context), catalog.finishImage, `${plant.id}/${id}`);
    if (shown) await writePlant(tx, plant, withPhoto(plant, stored.url));
    return stored;
  }

  /** Hashes the content with one chunk in memory at a time. Recognises it by the first chunk alone. */
  private async examine(deadline: Deadline, upload: ImageState): Promise<ImageContent> {
    checkContent(upload);
    const hash = createHash('sha256');
    let type: ReturnType<typeof recognise> = opaque;
    for (const [index, bytes] of upload.chunkBytes.entries()) {
      const chunk = await this.stores.of(upload).read(deadline, upload.id, index);
      // The chunk's length was committed, but the chunk was never stored.
      if (chunk?.length !== bytes) throw uploadNotFound();
      hash.update(chunk);
      if (index === 0) type = recognise(chunk);
    }
    if (type === 'markup') throw imageTypeRefused();
    return { contentType: type.contentType, sha256: hash.digest('hex') };
  }
}

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
