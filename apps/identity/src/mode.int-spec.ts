import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testEnvironment, TestIdentity } from './identity.spec.fixture.js';
import { startReplicaProcess } from './process.spec.fixture.js';

let shop: TestIdentity;
beforeAll(async () => {
  shop = await TestIdentity.start();
});
afterAll(() => shop.stop());

it('a sandbox does not start with the data of another shop, and says why (slow)', async () => {
  const environment = { ...testEnvironment(shop.databaseUrl), NATS_URL: shop.natsUrl, SANDBOX: 'true' };
  await expect(startReplicaProcess(environment)).rejects.toThrow(
    /"msg":"SANDBOX is true, but the database was created without it: a sandbox needs databases of its own"\}\n$/,
  );
});
