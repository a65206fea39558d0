import { Injectable } from '@nestjs/common';
import { Database } from '@plant-shop/platform/postgres/database';
import { constraintOf } from '@plant-shop/platform/postgres/sqlstate';
import { uploadNotFound } from './image.js';

/** Where the content of images is: chunks in the catalog's Postgres, so a backup of it has them too. */
@Injectable()
export class ImageStore {
  constructor(private readonly database: Database) {}

  /**
   * A repeated chunk replaces itself.
   * @throws DomainError `upload-not-found` when the upload was swept meanwhile
   */
  async write(imageId: string, index: number, data: Uint8Array): Promise<void> {
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

  async read(imageId: string, index: number): Promise<Buffer | undefined> {
    const [chunk] = await this.database.query<{ data: Buffer }>(
      { name: 'read-image-chunk', text: 'SELECT data FROM image_chunks WHERE image_id = $1 AND index = $2' },
      [imageId, index],
    );
    return chunk?.data;
  }
}
