import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { checkContainers, containersOf, parse } from './containers.mjs';
import { examine } from './examine.mjs';
import { exitCode, line } from './finding.mjs';

const folder = mkdtempSync(join(tmpdir(), 'doctor-containers-'));
after(() => rmSync(folder, { recursive: true }));

/** A container as Compose 2.40 reports it, with only the members that are read. @param {Partial<import('./containers.mjs').Container>} differences */
const container = (differences) => ({ Name: 'plant-shop-store-1', Service: 'store', State: 'running', Health: 'healthy', ExitCode: 0, Publishers: [{ URL: '', TargetPort: 9090, PublishedPort: 0, Protocol: 'tcp' }], ...differences });
const gateway = container({ Name: 'plant-shop-gateway-1', Service: 'gateway', Publishers: [8080, 8080, 0].map((PublishedPort) => ({ URL: '127.0.0.1', TargetPort: 8080, PublishedPort, Protocol: 'tcp' })) });
const migration = container({ Name: 'plant-shop-store-migrate-1', Service: 'store-migrate', State: 'exited', Health: '' });

/** Makes an environment whose `docker` is this shell script. @param {string} body of a shell script */
function docker(body) {
  writeFileSync(join(folder, 'docker'), `#!/bin/sh\n${body}\n`);
  chmodSync(join(folder, 'docker'), 0o755);
  return { PATH: `${folder}${delimiter}${process.env['PATH']}` };
}

/** @param {readonly import('./finding.mjs').Finding[]} findings */
const lines = (findings) => findings.map(line).join('\n');

test('ports that this checkout\'s containers publish do not count as taken', () => {
  const text = lines(checkContainers([gateway, container({}), migration]));
  assert.match(text, /^ok {5}container plant-shop-gateway-1: healthy$/m);
  assert.match(text, /^ok {5}container plant-shop-store-migrate-1: has migrated$/m);
  assert.deepEqual(text.match(/^.*port .*$/gm), ['ok     port 8080: published by container plant-shop-gateway-1']);
});

test('a failed container is named, with the command that shows its log', () => {
  const of = (/** @type {Partial<import('./containers.mjs').Container>} */ differences) => lines(checkContainers([container(differences)])).split('\n')[0];
  assert.equal(of({ Health: 'unhealthy' }), 'WRONG  container plant-shop-store-1: unhealthy -> docker compose logs store');
  assert.equal(of({ State: 'exited', Health: '', ExitCode: 78 }), 'WRONG  container plant-shop-store-1: exited (exit code 78) -> docker compose logs store');
  assert.equal(of({ State: 'exited', Health: '' }), 'WRONG  container plant-shop-store-1: exited (exit code 0) -> docker compose up --detach');
  assert.match(of({ Health: 'starting' }) ?? '', /^\? {6}container plant-shop-store-1: starting/);
  assert.equal(lines(checkContainers([{ ...migration, ExitCode: 1 }])).split('\n')[0], 'WRONG  container plant-shop-store-migrate-1: exited (exit code 1) -> docker compose logs store-migrate');
});

test('both output formats of Compose are parsed, warnings skipped', () => {
  assert.deepEqual(parse(`time="…" level=warning msg="…"\n${JSON.stringify(gateway)}\n${JSON.stringify(migration)}\n`), [gateway, migration]);
  assert.deepEqual(parse(JSON.stringify([gateway, migration])), [gateway, migration]);
});

test('with a shop in containers, the packages and ports of npm start are not checked', async () => {
  const env = docker(`[ "$1 $2" = "compose ps" ] && echo '${JSON.stringify(gateway)}'`);
  /** @type {import('./finding.mjs').Finding[]} */
  const findings = [];
  for await (const finding of examine(folder, { ...env, DATA_DIR: folder })) findings.push(finding);
  assert.deepEqual(findings.map(({ about }) => about), ['Node', 'container plant-shop-gateway-1', 'port 8080', 'databases, NATS, clocks, lag']);
  assert.equal(exitCode(findings), 2);
});

test('without a container engine there are no containers', async () => {
  assert.deepEqual(await containersOf(folder, docker('echo "Cannot connect to the Docker daemon" >&2; exit 1')), []);
  assert.deepEqual(await containersOf(folder, { PATH: '/nowhere' }), []);
});
