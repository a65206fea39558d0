import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRecent, whatToInstall } from './nats-binary.mjs';
import { freePort } from './ports.mjs';
import { ROOT } from './toolchain.mjs';

test('one line explains what to install, with a separate command for macOS', () => {
  assert.match(whatToInstall('darwin'), /^No NATS server .*brew install nats-server.*NATS_URL\.$/);
  assert.match(whatToInstall('linux'), /^No NATS server .*nats-server on the PATH.*Docker.*NATS_URL\.$/);
});

test('the server of Debian 12 is too old to keep; those of later releases are not', () => {
  assert.deepEqual(['2.9.10', '2.9.25', '2.10.27', '2.15.1', '3.0.0'].map(isRecent), [false, false, true, true, true]);
});

test('Docker runs the image of docker-compose.yml', () => {
  const image = /^ {4}image: (nats:\S+)$/m.exec(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'))?.[1];
  assert.ok(image);
  assert.ok(readFileSync(join(ROOT, 'tools/start/nats-binary.mjs'), 'utf8').includes(`'${image}'`), image);
});

for (const [command, args] of /** @type {const} */ ([['start', []], ['test', ['--only', 'unit', '-t', 'nothing']]])) {
  for (const [machine, programs] of /** @type {const} */ ([['neither apt-get nor Docker', ['id']], ['an apt-get that reaches no server', ['id', 'apt-get', 'dpkg-deb']]])) {
    test(`npm ${command}: with ${machine}, one line explains what to install, and nothing is installed`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'plant-shop-no-nats-'));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const programsFolder = join(folder, 'bin');
      mkdirSync(programsFolder);
      for (const name of programs) {
        if (name === 'id') symlinkSync('/usr/bin/id', join(programsFolder, name));
        else writeFileSync(join(programsFolder, name), '#!/bin/sh\nexit 100\n', { mode: 0o755 });
      }
      const ports = { GATEWAY_PORT: `${await freePort()}`, STREAM_PORT: `${await freePort()}` };
      const env = { PATH: programsFolder, HOME: folder, XDG_CACHE_HOME: join(folder, 'cache'), DATA_DIR: join(folder, 'data'), ...ports };
      const { code, output } = await run([join(ROOT, 'tools', command, 'main.mjs'), ...args], env);
      const lines = output.split('\n').filter((line) => line !== '' && !/^Fetching nats-server from|passed, .*failed$/.test(line));
      assert.deepEqual([code, lines], [1, [whatToInstall(process.platform)]]);
      assert.equal(existsSync(join(folder, 'data', 'postgres')), false);
    });
  }
}

/** @param {string[]} args @param {Record<string, string>} env @returns {Promise<{ code: number | null, output: string }>} */
function run(args, env) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('close', (code) => resolve({ code, output }));
  });
}
