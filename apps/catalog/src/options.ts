export const imageStoreNames = ['postgres', 's3'] as const;
export type ImageStoreName = (typeof imageStoreNames)[number];

/** A bucket of S3 or of a compatible server. */
export interface S3Settings {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** True: the bucket is in the path; false: in the host name. */
  readonly pathStyle: boolean;
}

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
