import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { Database } from '@plant-shop/platform/postgres/database';
import { createLogger } from '@plant-shop/platform/logging';
import pg from 'pg';

/** The database of one test file. */
export interface TestDatabase {
  /** URL with the role that owns the tables. */
  readonly url: string;
  /** URL with the role that a service runs as. */
  readonly serviceUrl: string;
  drop(): Promise<void>;
}

const serverUrl = (): string => {
  const url = process.env['TEST_POSTGRES_URL'];
  if (!url) throw new Error('TEST_POSTGRES_URL is missing: run the tests with npm test, which provides a server.');
  return url;
};

/** One role for the test databases of all services: privileges are granted per database. */
const serviceRole = { name: 'service_of_tests', password: 'of no use to anybody' };

/**
 * Creates a database with all migrations of a folder, as a clone of a template. The template is created once per content of the folder,
 * so that a test file costs a copy of files instead of a run of migrations.
 */
export async function createDatabase(migrations: URL): Promise<TestDatabase> {
  const template = await templateOf(migrations);
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdmin(async (admin) => {
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
    // Cloning does not copy privileges on the database itself.
    await admin.query(`GRANT CONNECT ON DATABASE ${name} TO ${serviceRole.name}`);
  });
  return {
    url: urlOf(name),
    serviceUrl: urlOf(name, serviceRole),
    drop: () => asAdmin(async (admin) => {
        await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}

async function templateOf(migrations: URL): Promise<string> {
  const hash = createHash('sha256').update(`${migrations.pathname} granted`);
  for (const file of (await readdir(migrations)).sort()) hash.update(file).update(await readFile(new URL(file, migrations)));
  const name = `template_${hash.digest('hex').slice(0, 16)}`;
  await asAdmin(async (admin) => {
    // Test files run in parallel processes: one creates the template, the others wait.
    await admin.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount) return;
    // A killed run may have left it behind.
    await admin.query(`DROP DATABASE IF EXISTS ${name}_new WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${name}_new`);
    await createServiceRole(admin);
    await Database.migrate(
      { url: urlOf(`${name}_new`), applicationName: 'template', poolSize: 1, migrations },
      createLogger('template', 'error'),
      serviceRole.name,
    );
    await admin.query(`ALTER DATABASE ${name}_new RENAME TO ${name}`);
  });
  return name;
}

/** Creates the role if it does not exist. Concurrent processes wait for each other. */
async function createServiceRole(admin: pg.Client): Promise<void> {
  const { name, password } = serviceRole;
  await admin.query(`
    DO $$ BEGIN
      PERFORM pg_advisory_xact_lock(hashtext('${name}'));
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${name}') THEN CREATE ROLE ${name} LOGIN PASSWORD '${password}'; END IF;
    END $$`);
}

function urlOf(name: string, role?: typeof serviceRole): string {
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  if (role) {
    url.username = role.name;
    url.password = role.password;
  }
  return url.href;
}

async function asAdmin<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: serverUrl() });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}
