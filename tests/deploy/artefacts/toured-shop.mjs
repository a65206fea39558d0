import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentOf, request } from '@plant-shop/testing/http';
import { canReach, postgresUser } from '../../../tools/start/system-user.mjs';
import { ProductionShop } from './shop.mjs';

export const START_LIMIT_MS = 180_000;

/** The contents of the images (images.mjs), which each step of `npm test` that needs them builds once. */
export const ARTEFACTS = process.env['ARTEFACTS_DIR'] ?? assert.fail('ARTEFACTS_DIR is missing. Run: npm test -- --only artefacts');

/** A shop of all artefacts, with the settings of the production overlays. */
export class TouredShop {
  #ending = new AbortController();

  constructor() {
    const parent = canReach(tmpdir(), postgresUser()) ? tmpdir() : '/tmp';
    this.folder = mkdtempSync(join(parent, 'plant-shop-artefacts-'));
    chmodSync(this.folder, 0o711);
    this.shop = new ProductionShop(ARTEFACTS, this.folder, this.#ending.signal);
  }

  async end() {
    this.#ending.abort(new Error('the tests have ended'));
    await this.shop.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /**
   * @param {string} method @param {string} path @param {import('@plant-shop/testing/http').RequestOptions} [options]
   * @returns {Promise<{ status: number, body: any }>}
   */
  async send(method, path, options) {
    const response = await request(method, this.shop.url + path, options);
    return { status: response.status, body: (await contentOf(response)).json };
  }

  /** Creates the first admin by command. @returns {Promise<string>} the admin's API key, with all permissions */
  async keyOfFirstAdmin() {
    const admin = { username: 'first-admin', password: 'a long enough password' };
    assert.equal((await this.send('POST', '/v3/user', { json: admin })).status, 200);
    // Before it is an admin, who would need a second factor.
    const login = await this.send('GET', `/v3/user/login?username=${admin.username}&password=${encodeURIComponent(admin.password)}`);
    assert.equal(login.status, 200);
    assert.match(await this.shop.command('identity', ['dist/set-role.js', admin.username, 'admin']), /is admin now/);
    const { body: document } = await this.send('GET', '/v3/openapi.json');
    const permissions = document.components.schemas.NewApiKey.properties.permissions.items.enum;
    const made = await this.send('POST', `/v3/user/${admin.username}/apiKeys`, { as: { bearer: login.body.message }, json: { name: 'tour', permissions } });
    return made.body.key ?? assert.fail(JSON.stringify(made.body));
  }
}
