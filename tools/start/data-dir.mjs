import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makePassage, writePrivately } from './files.mjs';
import { removeDrafts } from './postgres.mjs';
import { SERVICES } from './services.mjs';
import { canReach, postgresUser } from './system-user.mjs';

/** The data folder of a shop: databases, passwords and logs. */
export class DataDir {
  /** @param {string} path */
  constructor(path) {
    this.path = resolve(path);
    this.lock = join(this.path, 'lock');
    this.runFile = join(this.path, 'run.json');
    this.credentials = join(this.path, 'credentials.json');
    this.logs = join(this.path, 'logs');
    this.jetstream = join(this.path, 'jetstream');
    this.postgresLocation = join(this.path, 'postgres-location');
  }

  create() {
    makePassage(this.path);
    mkdirSync(this.logs, { recursive: true });
  }

  /** Returns the file with the environment for a developer's own process of a service. @param {string} service */
  environmentFile(service) {
    return join(this.path, `${service}.env`);
  }

  /** The folder of the Postgres cluster: in the data folder, unless the user of Postgres cannot access it. */
  get postgres() {
    if (existsSync(this.postgresLocation)) return readFileSync(this.postgresLocation, 'utf8');
    if (canReach(this.path, postgresUser())) return join(this.path, 'postgres');
    return join(`/var/lib/plant-shop-${createHash('sha256').update(this.path).digest('hex').slice(0, 12)}`, 'postgres');
  }

  /** Chooses the cluster's folder, and keeps the choice even if permissions change later. */
  createPostgresPlace() {
    const folder = this.postgres;
    makePassage(dirname(folder));
    if (dirname(folder) !== this.path) writePrivately(this.postgresLocation, folder);
  }

  /** Deletes the launcher's own files, and no others in the folder. */
  empty() {
    const cluster = this.postgres;
    removeDrafts(cluster);
    const environments = SERVICES.map((service) => this.environmentFile(service));
    for (const made of [cluster, this.logs, this.jetstream, this.credentials, this.postgresLocation, this.runFile, ...environments]) {
      rmSync(made, { recursive: true, force: true });
    }
    const elsewhere = dirname(cluster);
    if (/^plant-shop-[0-9a-f]{12}$/.test(basename(elsewhere))) rmSync(elsewhere, { recursive: true, force: true });
  }
}
