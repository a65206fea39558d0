import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** The database of one test file. */
export interface TestDatabase {
  /** URL with the role that owns the tables. */
  readonly url: string;
  /** URL with the role that a service runs as. */
  readonly serviceUrl: string;
  /** Ends all connections. The database lasts as long as the server. */
  disconnect(): Promise<void>;
}

const serverUrl = (): string => {
  const url = process.env['TEST_POSTGRES_URL'];
  if (!url) throw new Error('TEST_POSTGRES_URL is missing: run the tests with npm test, which provides a server.');
  return url;
};

/** One role for the test databases of all services: privileges are granted per database. */
const serviceRole = { name: 'service_of_tests', password: 'of no use to anybody' };

export const createEmptyDatabase = (): Promise<TestDatabase> => createClone('template0');

/**
 * Creates a database as a clone of a template, so that a test file costs a copy of files instead of a run of migrations. The first call
 * with a name creates the template.
 * @param fill changes the template, which is empty, with these URLs of its owner and of a service
 */
export async function createFilledDatabase(name: string, fill: (template: Omit<TestDatabase, 'disconnect'>) => Promise<unknown>): Promise<TestDatabase> {
  await asAdmin(async (admin) => {
    // Test files run in parallel processes: one creates the template, the others wait.
    await admin.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount) return;
    const unfinished = `${name}_new`;
    // A killed run may have left it behind.
    await admin.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${unfinished}`);
    await createServiceRole(admin);
    await fill(urlsOf(unfinished));
    await admin.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
  });
  return createClone(name);
}

async function createClone(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdmin(async (admin) => {
    await createServiceRole(admin);
    // Copying files costs about half of writing each block through the log, and nothing here must survive a crash.
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    // Cloning does not copy privileges on the database itself.
    await admin.query(`GRANT CONNECT ON DATABASE ${name} TO ${serviceRole.name}`);
  });
  return {
    ...urlsOf(name),
    disconnect: () => asAdmin(async (admin) => {
        await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      }),
  };
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

const urlsOf = (database: string): Omit<TestDatabase, 'disconnect'> => ({ url: urlOf(database), serviceUrl: urlOf(database, serviceRole) });

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
