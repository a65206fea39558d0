import { readdir, readFile } from 'node:fs/promises';

/** One numbered file: `<13 digits>-<what>.sql`. */
export interface MigrationFile {
  /** The name in TypeORM's table: `<what><13 digits>`. TypeORM orders migrations by the digits at the end. */
  readonly name: string;
  readonly file: string;
}

/**
 * Lists the `.sql` files of a folder, in the order of their numbers.
 * @throws Error for a file that is not named `<13 digits>-<what>.sql`
 */
export async function listMigrations(folder: URL): Promise<MigrationFile[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return files.map((file) => {
    const parts = /^(\d{13})-([a-z0-9-]+)\.sql$/.exec(file);
    if (!parts) throw new Error(`${file} is not named <13 digits>-<what>.sql`);
    return { name: `${parts[2] ?? ''}${parts[1] ?? ''}`, file };
  });
}

export const migrationNames = async (folder: URL): Promise<string[]> => (await listMigrations(folder)).map(({ name }) => name);

export const readMigration = (folder: URL, { file }: MigrationFile): Promise<string> => readFile(new URL(file, folder), 'utf8');
