import type { Statement, Transaction } from '@plant-shop/platform/postgres/database';
import type { AttachedImage, ImageState } from './image.js';

type Reader = Pick<Transaction, 'query'>;

const columns = `id, incarnation, state, chunk_bytes AS "chunkBytes", content_type AS "contentType", sha256`;

/** @returns whether there is such a plant, which cannot be deleted until this transaction ends */
export async function insertUpload(tx: Transaction, imageId: string, plantId: number): Promise<boolean> {
  const inserted = await tx.execute(
    `INSERT INTO images (id, incarnation, state)
     SELECT $1, incarnation, 'uploading' FROM plants WHERE id = $2 FOR KEY SHARE`,
    [imageId, plantId],
  );
  return inserted === 1;
}

export async function lockImage(tx: Transaction, imageId: string): Promise<ImageState | undefined> {
  const [image] = await tx.query<ImageState>(
    { name: 'lock-image', text: `SELECT ${columns} FROM images WHERE id = $1 FOR NO KEY UPDATE` },
    [imageId],
  );
  return image;
}

export async function writeChunkBytes(tx: Transaction, imageId: string, chunkBytes: readonly number[]): Promise<void> {
  await tx.execute(
    { name: 'write-chunk-bytes', text: 'UPDATE images SET chunk_bytes = $2 WHERE id = $1' },
    [imageId, chunkBytes],
  );
}

/** From now on the upload takes no chunks. An image that is attached already stays so. */
export async function sealUpload(db: Reader, imageId: string): Promise<ImageState | undefined> {
  const [image] = await db.query<ImageState>(
    `UPDATE images SET state = CASE WHEN state = 'uploading' THEN 'sealed' ELSE state END WHERE id = $1
     RETURNING ${columns}`,
    [imageId],
  );
  return image;
}

export async function attachImage(
  tx: Transaction,
  imageId: string,
  { contentType, sha256 }: Pick<AttachedImage, 'contentType' | 'sha256'>,
): Promise<void> {
  await tx.execute(`UPDATE images SET state = 'attached', content_type = $2, sha256 = $3 WHERE id = $1`, [
    imageId,
    contentType,
    sha256,
  ]);
}

const findAttached: Statement = {
  name: 'find-image',
  text: `SELECT ${columns} FROM images WHERE id = $1 AND state = 'attached' AND incarnation IS NOT NULL`,
};

/** An image of a plant that is there. */
export async function findImage(db: Reader, imageId: string): Promise<AttachedImage | undefined> {
  const [image] = await db.query<AttachedImage>(findAttached, [imageId]);
  return image;
}

/**
 * Deletes uploads that were begun before `hours` and never finished, and images of deleted plants, with their content: at
 * most `limit`, since an image is up to 41 rows of 256 KiB.
 */
export function sweepImages(tx: Transaction, hours: number, limit: number): Promise<number> {
  return tx.execute(
    `WITH due AS MATERIALIZED (
       SELECT id FROM images
       WHERE incarnation IS NULL OR (state <> 'attached' AND begun_at < now() - $1 * interval '1 hour')
       LIMIT $2 FOR UPDATE SKIP LOCKED
     )
     DELETE FROM images USING due WHERE images.id = due.id`,
    [hours, limit],
  );
}
