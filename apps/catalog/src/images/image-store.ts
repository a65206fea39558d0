import type { Deadline } from '@plant-shop/platform/rpc/deadline';

export const imageStoreNames = ['postgres', 's3'] as const;
export type ImageStoreName = (typeof imageStoreNames)[number];

/** Where the content of images is, in the chunks that it came in. What there should be is known by the table `images`. */
export interface ImageStore {
  /**
   * A repeated chunk replaces itself. One that fails may arrive later all the same.
   * @throws CodedError `unavailable`; DomainError `upload-not-found` when the upload is gone
   */
  write(deadline: Deadline, imageId: string, index: number, data: Uint8Array): Promise<void>;
  /** @throws CodedError `unavailable` */
  read(deadline: Deadline, imageId: string, index: number): Promise<Buffer | undefined>;
  /**
   * Chunks 0 to `chunks - 1`, whether they are there or not.
   * @throws CodedError `unavailable`
   */
  remove(deadline: Deadline, imageId: string, chunks: number): Promise<void>;
  /** Ends the connections that are the store's own. */
  close?(): void;
}
