import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newerSuiteOf, sourcesOfSuite } from './debian-suites.mjs';

const suites = { from: 'bookworm', to: 'testing' };

test('the next release is known for Debian and Ubuntu only', () => {
  assert.deepEqual(newerSuiteOf('PRETTY_NAME="Debian GNU/Linux 12"\nVERSION_CODENAME=bookworm\nID=debian\n'), suites);
  assert.deepEqual(newerSuiteOf('VERSION_CODENAME="noble"\nID=ubuntu\nID_LIKE=debian\n'), { from: 'noble', to: 'devel' });
  assert.equal(newerSuiteOf('ID=fedora\n'), undefined);
  assert.equal(newerSuiteOf('ID=debian\n'), undefined);
});

test('a .sources file is rewritten to the newer suite, with the same servers and keys', () => {
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

test('a .list file is rewritten to the newer suite, with the same servers and options', () => {
  const text = `# deb http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/keys/archive.gpg] http://mirror.example/debian bookworm main contrib
deb http://mirror.example/debian bookworm-updates main
deb-src http://mirror.example/debian bookworm main
deb https://other.example/apt stable main
`;
  const expected = 'deb [arch=amd64 signed-by=/keys/archive.gpg] http://mirror.example/debian testing main contrib\n';
  assert.equal(sourcesOfSuite('sources.list', text, suites), expected);
});
