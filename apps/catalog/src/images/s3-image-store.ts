import { createHash } from 'node:crypto';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { unavailable } from '@plant-shop/platform/errors';
import type { Logger } from '@plant-shop/platform/logging';
import type { Deadline } from '@plant-shop/platform/rpc/context';
import type { ImageStore } from './image-stores.js';
import type { S3Settings } from '../config.js';

/**
 * Stores each chunk as one object. Rejected:
 * - Multipart uploads: parts have at least 5 MiB, so chunks would need storage elsewhere first, and abandoned uploads leave parts
 *   that no listing shows.
 * - DeleteObjects: it requires a checksum on which servers do not agree, to save at most 40 requests.
 */
export class S3ImageStore implements ImageStore {
  private readonly client: S3Client;

  constructor(
    private readonly settings: S3Settings,
    private readonly logger: Logger,
  ) {
    const { endpoint, region, accessKeyId, secretAccessKey, pathStyle } = settings;
    this.client = new S3Client({
      endpoint,
      region,
      credentials: { accessKeyId, secretAccessKey },
      forcePathStyle: pathStyle,
      // Some compatible servers reject the newer checksums; all accept Content-MD5.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // Without a logger, the handler writes to the console.
      requestHandler: { connectionTimeout: 2_000, logger },
    });
  }

  async write(deadline: Deadline, imageId: string, index: number, data: Uint8Array): Promise<void> {
    const { bucket: Bucket } = this.settings;
    const ContentMD5 = createHash('md5').update(data).digest('base64');
    await this.within(deadline, (limit) =>
      this.client.send(new PutObjectCommand({ Bucket, Key: keyOf(imageId, index), Body: data, ContentMD5 }), limit),
    );
  }

  async read(deadline: Deadline, imageId: string, index: number): Promise<Buffer | undefined> {
    const { bucket: Bucket } = this.settings;
    return this.within(deadline, async (limit) => {
      try {
        const { Body } = await this.client.send(new GetObjectCommand({ Bucket, Key: keyOf(imageId, index) }), limit);
        return Body && Buffer.from(await Body.transformToByteArray());
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    });
  }

  async remove(deadline: Deadline, imageId: string, chunks: number): Promise<void> {
    const { bucket: Bucket } = this.settings;
    await this.within(deadline, async (limit) => {
      for (let index = 0; index < chunks; index++) {
        await this.client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(imageId, index) }), limit);
      }
    });
  }

  close(): void {
    this.client.destroy();
  }

  /** Maps every failure to `unavailable`: callers can only retry. Logs the cause. */
  private async within<T>(deadline: Deadline, work: (limit: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> {
    try {
      return await work({ abortSignal: AbortSignal.timeout(Math.ceil(deadline.leftMs)) });
    } catch (error) {
      this.logger.warn({ err: error, bucket: this.settings.bucket }, 'image store failed');
      throw unavailable('The image store', error);
    }
  }
}

const keyOf = (imageId: string, index: number): string => `images/${imageId}/${index}`;
