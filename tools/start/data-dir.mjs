import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makePassage, writePrivately } from './files.mjs';
import { removeDrafts } from './postgres.mjs';
import { SERVICES } from './services.mjs';
import { canReach, postgresUser } from './system-user.mjs';

/** The folder of one demo shop: its databases, passwords and logs. */
export class DataDir {
  /** @param {string} path */
  constructor(path) {
    this.path = resolve(path);
    this.lock = join(this.path, 'lock');
    this.runFile = join(this.path, 'run.json');
    this.credentials = join(this.path, 'credentials.json');
    this.logs = join(this.path, 'logs');
    this.postgresLocation = join(this.path, 'postgres-location');
  }

  create() {
    makePassage(this.path);
    mkdirSync(this.logs, { recursive: true });
  }

  /** Where a developer's own process finds the environment of this service. @param {string} service */
  environmentFile(service) {
    return join(this.path, `${service}.env`);
  }

  /** The folder of the Postgres cluster: here, unless the user Postgres runs as cannot get here. */
  get postgres() {
    if (existsSync(this.postgresLocation)) return readFileSync(this.postgresLocation, 'utf8');
    if (canReach(this.path, postgresUser())) return join(this.path, 'postgres');
    return join(`/var/lib/plant-shop-${createHash('sha256').update(this.path).digest('hex').slice(0, 12)}`, 'postgres');
  }

  /** Prepares the place of the cluster, and keeps it where it is even if permissions change later. */
  createPostgresPlace() {
    const folder = this.postgres;
    makePassage(dirname(folder));
    if (dirname(folder) !== this.path) writePrivately(this.postgresLocation, folder);
  }

  /** Begins anew: removes what we made here, and nothing that somebody else put beside it. */
  empty() {
    const cluster = this.postgres;
    removeDrafts(cluster);
    const environments = SERVICES.map((service) => this.environmentFile(service));
    for (const made of [cluster, this.logs, this.credentials, this.postgresLocation, this.runFile, ...environments]) {
      rmSync(made, { recursive: true, force: true });
    }
    const elsewhere = dirname(cluster);
    if (/^plant-shop-[0-9a-f]{12}$/.test(basename(elsewhere))) rmSync(elsewhere, { recursive: true, force: true });
  }
}
