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
import { lockPlantOf, writePlant } from '../plants/plants.repository.js';
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

  async begin(plantId: number): Promise<{ uploadId: string }> {
    const uploadId = randomUUID();
    const isBegun = await this.database.transaction((tx) => insertUpload(tx, uploadId, plantId, this.stores.chosen));
    if (!isBegun) throw plantNotFound(plantId);
    return { uploadId };
  }

  /** Its length is written before the chunk itself, so that nothing is in a store of which the row does not know. */
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
   * Seals the content before it is read, so that what was hashed and recognised is what will be served. A client that
   * repeats an upload repeats all of it, under another id: its Idempotency-Key stands for plant, content and metadata.
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
    // The plant before the image, as when a plant is deleted.
    const plant = incarnation === null ? undefined : await lockPlantOf(tx, incarnation);
    if (!plant) throw uploadedPlantGone();
    const image = await lockImage(tx, id);
    if (!image) throw uploadNotFound();
    if (isAttached(image)) return stored;
    await attachImage(tx, id, content);
    audit(tx, actorOf(context), catalog.finishImage, `${plant.id}/${id}`);
    if (content.contentType !== opaque.contentType) await writePlant(tx, plant, withPhoto(plant, stored.url));
    return stored;
  }

  /** One chunk in memory at a time; the first is all that content is recognised by. */
  private async examine(deadline: Deadline, upload: ImageState): Promise<ImageContent> {
    checkContent(upload);
    const hash = createHash('sha256');
    let type: ReturnType<typeof recognise> = opaque;
    for (const [index, bytes] of upload.chunkBytes.entries()) {
      const chunk = await this.stores.of(upload).read(deadline, upload.id, index);
      // A chunk that was announced, but whose writing was never acknowledged.
      if (chunk?.length !== bytes) throw uploadNotFound();
      hash.update(chunk);
      if (index === 0) type = recognise(chunk);
    }
    if (type === 'markup') throw imageTypeRefused();
    return { contentType: type.contentType, sha256: hash.digest('hex') };
  }
}
