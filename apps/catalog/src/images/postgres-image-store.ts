import type { Database } from '@plant-shop/platform/postgres/database';
import { constraintOf } from '@plant-shop/platform/postgres/sqlstate';
import type { Deadline } from '@plant-shop/platform/rpc/deadline';
import { uploadNotFound } from './image.js';
import type { ImageStore } from './image-store.js';

/** Stores chunks as rows in the catalog's database, so its backup contains them. Ignores deadlines: statements have their own limit. */
export class PostgresImageStore implements ImageStore {
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
