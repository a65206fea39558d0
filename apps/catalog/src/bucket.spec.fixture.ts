import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { startProxy, type TestProxy } from '@plant-shop/testing/proxy';
import { startFauxqs } from 'fauxqs';

/** A bucket of an S3-compatible server, behind a proxy that can cut the connection. */
export interface TestBucket {
  /** The settings of a catalog that stores its images in the bucket. */
  readonly environment: Readonly<Record<string, string>>;
  readonly network: TestProxy;
  /** Returns the keys of all objects. */
  keys(): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startBucket(): Promise<TestBucket> {
  const bucket = 'plant-images';
  const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false });
  server.createBucket(bucket);
  const network = await startProxy({ host: '127.0.0.1', port: server.port });
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${server.port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  return {
    environment: {
      IMAGE_STORE: 's3',
      S3_ENDPOINT: `http://127.0.0.1:${network.port}`,
      S3_REGION: 'us-east-1',
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: 'test',
      S3_SECRET_ACCESS_KEY: 'test-secret',
    },
    network,
    keys: async () => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
      return Contents.flatMap(({ Key }) => Key ?? []);
    },
    stop: async () => {
      client.destroy();
      await network.stop();
      await server.stop();
    },
  };
}
