import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, renameSync } from 'node:fs';
import { join } from 'node:path';

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];

/** A test CA that issues server certificates. */
export class Authority {
  /** The CA certificate, for clients. */
  file;
  #key;

  /** @param {string} folder @param {string} name */
  constructor(folder, name) {
    this.file = join(folder, `${name}.crt`);
    this.#key = join(folder, `${name}.key`);
    openssl(['req', '-x509', ...EC, '-keyout', this.#key, '-out', this.file, '-days', '2', '-subj', `/CN=${name}`]);
  }

  /**
   * Replaces the certificate of a server and its key.
   * @param {{ crt: string, key: string }} files
   * @param {string} host
   * @param {{ uid: number, gid: number } | undefined} owner user of the server, unless it is this process's user
   */
  certify({ crt, key }, host, owner) {
    const about = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`, '-addext', 'basicConstraints=critical,CA:FALSE'];
    openssl(['req', '-x509', '-CA', this.file, '-CAkey', this.#key, ...EC, '-keyout', `${key}.new`, '-out', `${crt}.new`, '-days', '1', ...about]);
    chmodSync(`${key}.new`, 0o600);
    for (const file of [key, crt]) {
      if (owner) chownSync(`${file}.new`, owner.uid, owner.gid);
      renameSync(`${file}.new`, file);
    }
  }
}

/** @param {string[]} args */
const openssl = (args) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
