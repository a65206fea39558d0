import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newerSuiteOf, sourcesOfSuite } from './debian-suites.mjs';

const suites = { from: 'bookworm', to: 'testing' };

test('Debian and Ubuntu have a release under way; of others nothing is known', () => {
  assert.deepEqual(newerSuiteOf('PRETTY_NAME="Debian GNU/Linux 12"\nVERSION_CODENAME=bookworm\nID=debian\n'), suites);
  assert.deepEqual(newerSuiteOf('VERSION_CODENAME="noble"\nID=ubuntu\nID_LIKE=debian\n'), { from: 'noble', to: 'devel' });
  assert.equal(newerSuiteOf('ID=fedora\n'), undefined);
  assert.equal(newerSuiteOf('ID=debian\n'), undefined);
});

test('paragraphs keep their server and key, and ask for the newer suite', () => {
  const text = `Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /keys/archive.gpg

Types: deb
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main

Types: deb-src
URIs: http://mirror.example/debian
Suites: bookworm
Components: main
`;
  const expected = `Types: deb
URIs: http://mirror.example/debian
Suites: testing
Components: main
Signed-By: /keys/archive.gpg
`;
  assert.equal(sourcesOfSuite('debian.sources', text, suites), expected);
});

test('lines keep their server and options, and ask for the newer suite', () => {
  const text = `# deb http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/keys/archive.gpg] http://mirror.example/debian bookworm main contrib
deb http://mirror.example/debian bookworm-updates main
deb-src http://mirror.example/debian bookworm main
deb https://other.example/apt stable main
`;
  const expected = 'deb [arch=amd64 signed-by=/keys/archive.gpg] http://mirror.example/debian testing main contrib\n';
  assert.equal(sourcesOfSuite('sources.list', text, suites), expected);
});
