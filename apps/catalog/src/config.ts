import { choice, type Config, flag, neededWith, type Setting, text, url } from '@plant-shop/platform/config';
import { databaseCa, databasePoolSize, databaseUrl, maxInFlight, ownerUrl, serviceSettings } from '@plant-shop/platform/service/settings';
import { imageStoreNames } from './images/image-store.js';

export const databaseSetting = {
  databaseUrl: databaseUrl('CATALOG_DATABASE_URL', "The catalog's own database"),
  databaseCa,
};

/** What `migrate.ts` reads. */
export const migrationSettings = {
  ...databaseSetting,
  ownerUrl: ownerUrl('CATALOG_MIGRATION_DATABASE_URL'),
};

const imageStore = choice('IMAGE_STORE', imageStoreNames, {
  description: 'Where the content of new images goes: `postgres`, the database, or `s3`, a bucket',
  default: 'postgres',
});

const forS3 = <T>(setting: Setting<T>): Setting<T | undefined> => neededWith(imageStore, 's3', setting);

export const catalogSettings = {
  ...serviceSettings,
  ...databaseSetting,
  databasePoolSize: databasePoolSize('CATALOG_DATABASE_POOL_SIZE', 16),
  publicUrl: url('PUBLIC_URL', ['http', 'https'], {
    description: 'Address at which clients reach the API; the URLs of images begin with it',
  }),
  imageStore,
  s3Endpoint: forS3(
    url('S3_ENDPOINT', ['http', 'https'], {
      description: 'S3, or a server that speaks like it, such as https://s3.eu-central-1.amazonaws.com',
    }),
  ),
  s3Region: forS3(text('S3_REGION', { description: 'Its region; most servers that are not S3 take us-east-1' })),
  s3Bucket: forS3(
    text('S3_BUCKET', { description: 'A bucket that exists, private and without versions; keys begin with images/' }),
  ),
  s3AccessKeyId: forS3(
    text('S3_ACCESS_KEY_ID', {
      description: 'A key that may do s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket there',
    }),
  ),
  s3SecretAccessKey: forS3(text('S3_SECRET_ACCESS_KEY', { description: 'Its secret' })),
  s3PathStyle: flag('S3_PATH_STYLE', {
    description: '`true`: the bucket stands in the path of addresses; `false`: in the host name',
    default: 'true',
  }),
  maxInFlight: maxInFlight(500),
};

export type CatalogConfig = Config<typeof catalogSettings>;
