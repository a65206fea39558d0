import type { ServiceConfig } from '@plant-shop/platform/service/service';
import type { CatalogConfig } from './config.js';
import type { ImageStoreName } from './images/image-store.js';
import type { S3Settings } from './images/s3-image-store.js';

/** The settings as the catalog's modules use them. */
export interface CatalogOptions {
  /** Public address of the API, without a trailing slash. */
  readonly publicUrl: string;
  /** The store for new images. */
  readonly imageStore: ImageStoreName;
  /** The bucket, if one is configured: its images stay readable even if new images go to Postgres. */
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
