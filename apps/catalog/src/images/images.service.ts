import { createHash, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { catalog, type FinishImage, type ImageHead, type StoredImage, type WriteImageChunk } from '@plant-shop/contracts/catalog';
import { actorOf, audit } from '@plant-shop/platform/audit/audit-log';
import { runOnce } from '@plant-shop/platform/idempotency/saved-answers';
import { Database, type Transaction } from '@plant-shop/platform/postgres/database';
import type { Replayed } from '@plant-shop/platform/rpc/answer';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { CATALOG_OPTIONS, type CatalogOptions } from '../options.js';
import { plantNotFound, withPhoto } from '../plants/plant.js';
import { lockPlantByIncarnation, writePlant } from '../plants/plants.repository.js';
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
import { ImageStores } from './image-stores.js';
import { opaque, recognise } from './image-type.js';
import { attachImage, findImage, insertUpload, lockImage, sealUpload, writeChunkBytes } from './images.repository.js';

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
    const stored = { imageId: id, url: `${this.options.publicUrl}/v3/images/${id}` };
    // Locks the plant before the image, in the order that deleting a plant does.
    const plant = incarnation === null ? undefined : await lockPlantByIncarnation(tx, incarnation);
    if (!plant) throw uploadedPlantGone();
    const image = await lockImage(tx, id);
    if (!image) throw uploadNotFound();
    if (isAttached(image)) return stored;
    await attachImage(tx, id, content);
    audit(tx, actorOf(context), catalog.finishImage, `${plant.id}/${id}`);
    if (content.contentType !== opaque.contentType) await writePlant(tx, plant, withPhoto(plant, stored.url));
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
