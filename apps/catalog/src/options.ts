import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { CatalogConfig } from './config.js';
import type { ImageStoreName } from './images/image-store.js';
import type { S3Settings } from './images/s3-image-store.js';

/** What the catalog's parts need of its settings, in their own terms. */
export interface CatalogOptions {
  /** Address of the API as clients know it, without a slash at its end. */
  readonly publicUrl: string;
  /** Where the content of new images goes. */
  readonly imageStore: ImageStoreName;
  /** The bucket, if there is one: images that are in it can be read whatever is chosen for new ones. */
  readonly s3: S3Settings | undefined;
}

export const CATALOG_OPTIONS = Symbol('catalog options');

type OwnConfig = Omit<CatalogConfig, keyof ServiceConfig>;

export const toOptions = (config: OwnConfig): CatalogOptions => ({
  publicUrl: config.publicUrl,
  imageStore: config.imageStore,
  s3: s3Of(config),
});

function s3Of(config: OwnConfig): S3Settings | undefined {
  const { s3Endpoint, s3Region, s3Bucket, s3AccessKeyId, s3SecretAccessKey, s3PathStyle } = config;
  if (!s3Endpoint || !s3Region || !s3Bucket || !s3AccessKeyId || !s3SecretAccessKey) return undefined;
  return {
    endpoint: s3Endpoint,
    region: s3Region,
    bucket: s3Bucket,
    accessKeyId: s3AccessKeyId,
    secretAccessKey: s3SecretAccessKey,
    pathStyle: s3PathStyle,
  };
}
