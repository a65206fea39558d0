import { createHash, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { imageChunkBytes, type ImageHead, type StoredImage } from '@plant-shop/contracts/catalog';
import { DomainError } from '@plant-shop/contracts/errors';
import { Database } from '@plant-shop/platform/postgres/database';
import { CATALOG_OPTIONS, type CatalogOptions } from '../options.js';
import { plantNotFound, withPhoto } from '../plants/plant.js';
import { lockPlantOf, writePlant } from '../plants/plants.repository.js';
import { checkContent, imageNotFound, type ImageState, imageTypeRefused, toHead, uploadNotFound, withChunk } from './image.js';
import { ImageStore } from './image-store.js';
import { type ImageType, recognise } from './image-type.js';
import {
  attachImage,
  findImage,
  insertUpload,
  lockImage,
  sealUpload,
  writeChunkBytes,
} from './images.repository.js';

@Injectable()
export class ImagesService {
  constructor(
    private readonly database: Database,
    private readonly store: ImageStore,
    @Inject(CATALOG_OPTIONS) private readonly options: CatalogOptions,
  ) {}

  async begin(plantId: number): Promise<{ uploadId: string }> {
    const uploadId = randomUUID();
    const isBegun = await this.database.transaction((tx) => insertUpload(tx, uploadId, plantId));
    if (!isBegun) throw plantNotFound(plantId);
    return { uploadId };
  }

  /** Markup is refused here, before any of it is stored; what a short first chunk hides is found by `finish`. */
  async writeChunk(uploadId: string, index: number, base64: string): Promise<{ bytes: number }> {
    const data = Buffer.from(base64, 'base64');
    if (index === 0 && recognise(data) === 'markup') throw imageTypeRefused();
    await this.database.transaction(async (tx) => {
      const upload = await lockImage(tx, uploadId);
      if (!upload) throw uploadNotFound();
      await writeChunkBytes(tx, uploadId, withChunk(upload, index, data.length));
    });
    await this.store.write(uploadId, index, data);
    return { bytes: data.length };
  }

  /** Seals the content before it is read, so that what was hashed and recognised is what will be served. */
  async finish(uploadId: string): Promise<StoredImage> {
    const stored = { imageId: uploadId, url: `${this.options.publicUrl}/v3/images/${uploadId}` };
    const upload = await this.database.transaction((tx) => sealUpload(tx, uploadId));
    if (!upload) throw uploadNotFound();
    if (upload.state === 'attached') return stored;
    checkContent(upload);
    const { sha256, type } = await this.examine(upload);
    if (type === 'markup') throw imageTypeRefused();
    await this.database.transaction(async (tx) => {
      // The plant before the image, as when a plant is deleted.
      const plant = upload.incarnation === null ? undefined : await lockPlantOf(tx, upload.incarnation);
      if (!plant) throw new DomainError('plant-not-found', 'The plant of this upload was deleted.');
      const image = await lockImage(tx, uploadId);
      if (!image) throw uploadNotFound();
      if (image.state === 'attached') return;
      await attachImage(tx, uploadId, { contentType: type.contentType, sha256 });
      if (type.disposition === 'inline') await writePlant(tx, plant, withPhoto(plant, stored.url));
    });
    return stored;
  }

  async get(imageId: string): Promise<ImageHead> {
    const image = await findImage(this.database, imageId);
    if (!image) throw imageNotFound();
    return toHead(image);
  }

  async readChunk(imageId: string, index: number): Promise<{ data: string }> {
    const image = await findImage(this.database, imageId);
    const data = image && (await this.store.read(imageId, index));
    if (!data) throw imageNotFound();
    return { data: data.toString('base64') };
  }

  /** One chunk in memory at a time, and the first 256 KiB to recognise the content by. */
  private async examine(upload: ImageState): Promise<{ sha256: string; type: ImageType | 'markup' }> {
    const hash = createHash('sha256');
    let beginning = Buffer.alloc(0);
    for (const [index, bytes] of upload.chunkBytes.entries()) {
      const chunk = await this.store.read(upload.id, index);
      // A chunk that was announced, but whose writing was never acknowledged.
      if (chunk?.length !== bytes) throw uploadNotFound();
      hash.update(chunk);
      if (beginning.length < imageChunkBytes) beginning = Buffer.concat([beginning, chunk]);
    }
    return { sha256: hash.digest('hex'), type: recognise(beginning) };
  }
}
