import { choice, type Config, flag, neededWith, type Setting, text, url } from '@plant-shop/platform/config';
import type { DatabaseConfig } from '@plant-shop/platform/postgres/address';
import type { DatabaseSettings } from '@plant-shop/platform/postgres/database';
import type { ServiceConfig } from '@plant-shop/platform/service/service';
import { databaseCa, databasePoolSize, databaseUrl, maxInFlight, ownerUrl, sandbox, serviceSettings } from '@plant-shop/platform/service/settings';

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

const databaseSetting = {
  databaseUrl: databaseUrl('CATALOG_DATABASE_URL', "The catalog's own database"),
  databaseCa,
  sandbox,
};

/** The settings of `migrate.ts`. */
export const migrationSettings = {
  ...databaseSetting,
  ownerUrl: ownerUrl('CATALOG_MIGRATION_DATABASE_URL'),
};

const imageStore = choice('IMAGE_STORE', imageStoreNames, {
  description: 'Where new images are stored: `postgres` or `s3`',
  default: 'postgres',
});

const forS3 = <T>(setting: Setting<T>): Setting<T | undefined> => neededWith(imageStore, 's3', setting);

export const catalogSettings = {
  ...serviceSettings,
  ...databaseSetting,
  databasePoolSize: databasePoolSize('CATALOG_DATABASE_POOL_SIZE', 16),
  publicUrl: url('PUBLIC_URL', ['http', 'https'], {
    description: 'Public address of the API; image URLs begin with it',
  }),
  imageStore,
  s3Endpoint: forS3(
    url('S3_ENDPOINT', ['http', 'https'], {
      description: 'S3 or a compatible server, such as https://s3.eu-central-1.amazonaws.com',
    }),
  ),
  s3Region: forS3(text('S3_REGION', { description: 'Its region; most compatible servers accept us-east-1' })),
  s3Bucket: forS3(
    text('S3_BUCKET', { description: 'Existing bucket, private and unversioned; keys begin with images/' }),
  ),
  s3AccessKeyId: forS3(
    text('S3_ACCESS_KEY_ID', {
      description: 'Access key with s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket on the bucket',
    }),
  ),
  s3SecretAccessKey: forS3(text('S3_SECRET_ACCESS_KEY', { description: 'Its secret' })),
  s3PathStyle: flag('S3_PATH_STYLE', {
    description: '`true`: bucket in the path; `false`: bucket in the host name',
    default: 'true',
  }),
  maxInFlight: maxInFlight(500),
};

export type CatalogConfig = Config<typeof catalogSettings>;

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

export const migrationsFolder = new URL('../migrations/', import.meta.url);

/** Without entities: a plant is one row, read and written as a whole; the rest is locks and pages. */
export const catalogDatabase = ({ databaseUrl, databaseCa, sandbox }: DatabaseConfig, poolSize: number): DatabaseSettings => ({
  url: databaseUrl,
  ca: databaseCa,
  sandbox,
  applicationName: 'catalog',
  poolSize,
  migrations: migrationsFolder,
});
