import type { Reader, Statement, Transaction } from '@plant-shop/platform/postgres/database';
import type { AttachedImage, ImageContent, ImageState } from './image.js';
import type { ImageStoreName } from '../config.js';

const columns = `id, incarnation, state, store, chunk_bytes AS "chunkBytes", content_type AS "contentType", sha256`;

/** Inserts an upload and locks its plant against deletion until the transaction ends. @returns whether the plant exists */
export async function insertUpload(
  tx: Transaction,
  imageId: string,
  plantId: number,
  store: ImageStoreName,
): Promise<boolean> {
  const inserted = await tx.execute(
    `INSERT INTO images (id, incarnation, state, store)
     SELECT $1, incarnation, 'uploading', $3 FROM plants WHERE id = $2 FOR KEY SHARE`,
    [imageId, plantId, store],
  );
  return inserted === 1;
}

const lock: Statement = {
  name: 'lock-image',
  text: `SELECT ${columns} FROM images WHERE id = $1 AND remove_at IS NULL FOR NO KEY UPDATE`,
};

/** Locks an image or upload, unless it is discarded. */
export async function lockImage(tx: Transaction, imageId: string): Promise<ImageState | undefined> {
  const [image] = await tx.query<ImageState>(lock, [imageId]);
  return image;
}

export async function writeChunkBytes(tx: Transaction, imageId: string, chunkBytes: readonly number[]): Promise<void> {
  await tx.execute(
    { name: 'write-chunk-bytes', text: 'UPDATE images SET chunk_bytes = $2 WHERE id = $1' },
    [imageId, chunkBytes],
  );
}

/** Seals an upload: it accepts no more chunks. Leaves an attached image unchanged. */
export async function sealUpload(db: Reader, imageId: string): Promise<ImageState | undefined> {
  const [image] = await db.query<ImageState>(
    `UPDATE images SET state = CASE WHEN state = 'uploading' THEN 'sealed' ELSE state END
     WHERE id = $1 AND remove_at IS NULL RETURNING ${columns}`,
    [imageId],
  );
  return image;
}

export async function attachImage(
  tx: Transaction,
  imageId: string,
  { contentType, sha256 }: ImageContent,
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

/** Finds an image of a plant that exists. */
export async function findImage(db: Reader, imageId: string): Promise<AttachedImage | undefined> {
  const [image] = await db.query<AttachedImage>(findAttached, [imageId]);
  return image;
}

/**
 * Discards uploads that are unfinished after `hours`, and images of deleted plants. Their content is due for removal half an hour
 * later: by then no chunk in transit can arrive any more, because S3 rejects requests signed more than 15 minutes ago.
 * @returns how many were discarded
 */
export function discardImages(tx: Transaction, hours: number, limit: number): Promise<number> {
  return tx.execute(
    `WITH due AS MATERIALIZED (
       SELECT id FROM images
       WHERE remove_at IS NULL
         AND (incarnation IS NULL OR (state <> 'attached' AND begun_at < now() - $1 * interval '1 hour'))
       LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE images SET remove_at = now() + interval '30 minutes' FROM due WHERE images.id = due.id`,
    [hours, limit],
  );
}

/** An image whose content, and then whose row, is to be removed. */
export interface DiscardedImage {
  readonly id: string;
  readonly store: ImageStoreName;
  readonly chunks: number;
}

/** Leases discarded images that are due for removal, for 5 minutes. */
export function leaseDiscarded(
  tx: Transaction,
  stores: readonly ImageStoreName[],
  limit: number,
): Promise<DiscardedImage[]> {
  return tx.query<DiscardedImage>(
    `WITH due AS MATERIALIZED (
       SELECT id FROM images WHERE remove_at <= now() AND store = ANY($1) ORDER BY remove_at LIMIT $2
       FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE images SET remove_at = now() + interval '5 minutes' FROM due WHERE images.id = due.id
     RETURNING images.id, images.store, cardinality(images.chunk_bytes) AS chunks`,
    [stores, limit],
  );
}

export async function deleteImage(tx: Transaction, imageId: string): Promise<void> {
  await tx.execute('DELETE FROM images WHERE id = $1', [imageId]);
}
