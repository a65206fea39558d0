import { readdir, readFile } from 'node:fs/promises';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Migrations are plain SQL files named `<13 digits>-<what>.sql`, run by TypeORM in the order of their numbers. They only
 * go forward, and are never edited once merged: a mistake is mended by the next one.
 */
export async function loadMigrations(folder: URL): Promise<(new () => MigrationInterface)[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(files.map(async (file) => toMigration(file, await readFile(new URL(file, folder), 'utf8'))));
}

function toMigration(file: string, sql: string): new () => MigrationInterface {
  const parts = /^(\d{13})-([a-z0-9-]+)\.sql$/.exec(file);
  if (!parts) throw new Error(`${file} is not named <13 digits>-<what>.sql`);
  // TypeORM reads the order from the digits at the end of the name.
  const name = `${parts[2] ?? ''}${parts[1] ?? ''}`;
  return class implements MigrationInterface {
    name = name;
    async up(runner: QueryRunner): Promise<void> {
      await runner.query(sql);
    }
    async down(): Promise<void> {
      throw new Error('Migrations only go forward: write the next one.');
    }
  };
}
