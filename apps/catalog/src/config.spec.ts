import { describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from '@plant-shop/platform/config';
import { catalogSettings, toOptions } from './config.js';

const usable = {
  NATS_URL: 'nats://localhost',
  CATALOG_DATABASE_URL: 'postgres://localhost/catalog',
  PUBLIC_URL: 'https://shop.test',
};
const bucket = {
  S3_ENDPOINT: 'http://localhost:9000',
  S3_REGION: 'us-east-1',
  S3_BUCKET: 'images',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};
const optionsOf = (environment: NodeJS.ProcessEnv) =>
  toOptions(readConfig(catalogSettings, { ...usable, ...environment }));

const faultsOf = (environment: NodeJS.ProcessEnv): readonly string[] => {
  try {
    readConfig(catalogSettings, environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
};

describe('the image store', () => {
  it('is the database by default, and then needs no settings', () => {
    expect(optionsOf({})).toEqual({ publicUrl: 'https://shop.test', imageStore: 'postgres', s3: undefined });
  });

  it('may be a bucket', () => {
    const s3 = {
      endpoint: 'http://localhost:9000',
      region: 'us-east-1',
      bucket: 'images',
      accessKeyId: 'id',
      secretAccessKey: 'secret',
      pathStyle: true,
    };
    expect(optionsOf({ IMAGE_STORE: 's3', ...bucket })).toMatchObject({ imageStore: 's3', s3 });
    expect(optionsOf({ IMAGE_STORE: 's3', ...bucket, S3_PATH_STYLE: 'false' }).s3?.pathStyle).toBe(false);
  });

  it('still reaches a configured bucket if new images go to the database', () => {
    expect(optionsOf(bucket)).toMatchObject({ imageStore: 'postgres', s3: { bucket: 'images' } });
  });

  it('is refused with all missing settings and all other faults', () => {
    const wrong = { CATALOG_DATABASE_URL: '', IMAGE_STORE: 's3', S3_ENDPOINT: 'localhost:9000', S3_PATH_STYLE: 'maybe' };
    const faults = faultsOf({ ...usable, ...wrong });
    expect(faults.map((fault) => fault.replace(/ \(.*/, ''))).toEqual([
      'CATALOG_DATABASE_URL is missing',
      'S3_ENDPOINT must be a URL with http or https',
      'S3_REGION is missing',
      'S3_BUCKET is missing',
      'S3_ACCESS_KEY_ID is missing',
      'S3_SECRET_ACCESS_KEY is missing',
      'S3_PATH_STYLE must be true or false',
    ]);
    expect(faultsOf({ ...usable, IMAGE_STORE: 'disk' })).toEqual(['IMAGE_STORE must be one of postgres, s3']);
  });
});
