import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createLogger } from '@plant-shop/platform/logging';
import { Database } from '@plant-shop/platform/postgres/database';
import { roleOf } from '@plant-shop/platform/postgres/migrations';
import { createFilledDatabase, type TestDatabase } from '@plant-shop/testing/postgres';

/** Creates a database with all migrations of a folder. They run once per content of the folder. */
export async function createDatabase(migrations: URL): Promise<TestDatabase> {
  const hash = createHash('sha256').update(`${migrations.pathname} granted`);
  for (const file of (await readdir(migrations)).sort()) hash.update(file).update(await readFile(new URL(file, migrations)));
  return createFilledDatabase(`template_${hash.digest('hex').slice(0, 16)}`, ({ url, serviceUrl }) =>
    Database.migrate({ url, applicationName: 'template', poolSize: 1, migrations }, createLogger('template', 'error'), roleOf(serviceUrl)),
  );
}
