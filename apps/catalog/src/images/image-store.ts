import type { Deadline } from '@plant-shop/platform/rpc/deadline';

/** Storage for the content of images, in the chunks in which it was uploaded. The table `images` records which chunks must exist. */
export interface ImageStore {
  /**
   * Writes a chunk, replacing an earlier one with the same index. A failed write may still take effect later.
   * @throws CodedError `unavailable`; DomainError `upload-not-found` if the upload no longer exists
   */
  write(deadline: Deadline, imageId: string, index: number, data: Uint8Array): Promise<void>;
  /** Reads a chunk; undefined: it does not exist. @throws CodedError `unavailable` */
  read(deadline: Deadline, imageId: string, index: number): Promise<Buffer | undefined>;
  /**
   * Removes chunks 0 to `chunks - 1`; missing ones are no error.
   * @throws CodedError `unavailable`
   */
  remove(deadline: Deadline, imageId: string, chunks: number): Promise<void>;
  /** Closes connections that this store opened. */
  close?(): void;
}
