import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { identity } from '@plant-shop/contracts/identity';
import { until } from '@plant-shop/testing/until';
import { createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { testEnvironment, TestIdentity } from '../identity.spec.fixture.js';
import { type CommandResult, runOperatorCommand } from '../process.spec.fixture.js';

describe('signing keys', () => {
  let shop: TestIdentity;
  let ports: readonly number[];
  beforeAll(async () => {
    shop = await TestIdentity.start({ demoData: true }, { signingKeysRefreshMs: 50 });
    ports = [shop.httpPort, (await shop.addReplica({}, { signingKeysRefreshMs: 50 })).httpPort];
  });
  afterAll(() => shop.stop());

  const run = (changed: Record<string, string> = {}): Promise<CommandResult> =>
    runOperatorCommand('rotate-signing-key', [], { ...testEnvironment(shop.databaseUrl), ...changed });
  const revoke = (...args: string[]): Promise<CommandResult> =>
    runOperatorCommand('revoke-signing-key', args, testEnvironment(shop.databaseUrl));

  async function tokenFrom(port: number): Promise<{ readonly jwt: string; readonly kid: string | undefined }> {
    const response = await fetch(`http://127.0.0.1:${port}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('plant-admin:plant-secret').toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: jwt } = (await response.json()) as { access_token: string };
    return { jwt, kid: decodeProtectedHeader(jwt).kid };
  }
  async function isActiveAt(port: number, jwt: string): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${port}/oauth/introspect`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('plant-admin:plant-secret').toString('base64')}` },
      body: new URLSearchParams({ token: jwt }),
    });
    return ((await response.json()) as { active: boolean }).active;
  }
  const jwksUrl = (port: number): URL => new URL(`http://127.0.0.1:${port}/oauth/jwks`);
  const publishedBy = async (port: number): Promise<string[]> => {
    const { keys } = (await (await fetch(jwksUrl(port))).json()) as { keys: { kid: string }[] };
    return keys.map(({ kid }) => kid);
  };
  /** Returns whether the token verifies with the keys of the RPC, which gateways use, and of each replica's JWKS. */
  async function isVerified(jwt: string): Promise<boolean> {
    const { keys } = await shop.call(identity.readSigningKeys, {});
    const sets = [
      createLocalJWKSet({ keys: [...keys] }),
      ...ports.map((port) => createRemoteJWKSet(jwksUrl(port))),
    ];
    const options = { audience: 'http://shop.test/v3' };
    const tried = await Promise.allSettled(sets.map((keys) => jwtVerify(jwt, keys, options)));
    expect(new Set(tried.map(({ status }) => status)).size).toBe(1);
    return tried[0]?.status === 'fulfilled';
  }
  /** Applies now what would happen to a key over time. */
  const fastForward = (change: string, kid: string): Promise<unknown> =>
    shop.sql.query(`UPDATE signing_keys SET ${change} WHERE kid = $1`, [kid]);
  const untilAll = (condition: (port: number) => Promise<boolean>): Promise<void> =>
    until(async () => (await Promise.all(ports.map(condition))).every(Boolean));

  /** Holds two runs at the lock of the table, then lets both continue. */
  async function runTwoAtOnce(): Promise<CommandResult[]> {
    const holder = await shop.sql.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE');
      const runs = Promise.all([run(), run()]);
      await until(async () => (await shop.waitingForLocks()) === 2);
      await holder.query('ROLLBACK');
      return await runs;
    } finally {
      holder.release();
    }
  }

  describe('node dist/rotate-signing-key.js', () => {
    it('creates a key that signs on all replicas without a restart, while tokens of the old key stay valid', async () => {
      const [port = 0, other = 0] = ports;
      const before = await tokenFrom(port);
      const { code, stdout, stderr } = await run();
      expect(code).toBe(0);
      const { kid: created } = JSON.parse(stderr) as { kid: string };
      expect(created).not.toBe(before.kid);
      expect(JSON.parse(stderr)).toMatchObject({ service: 'identity', msg: 'signing key rotated' });
      expect(stdout).toContain(`Created key ${created}. It is published now and signs tokens in 30 s.`);

      // All replicas publish it before any of them signs with it.
      await untilAll(async (one) => (await publishedBy(one)).includes(created));
      for (const one of ports) expect(await publishedBy(one)).toEqual([before.kid, created]);
      for (const one of ports) expect((await tokenFrom(one)).kid).toBe(before.kid);

      await fastForward('signs_from = now()', created);
      await untilAll(async (one) => (await tokenFrom(one)).kid === created);
      const after = await tokenFrom(other);
      expect(await isVerified(after.jwt)).toBe(true);
      expect(await isVerified(before.jwt)).toBe(true);
      const { rows } = await shop.sql.query<{ kid: string; minutes: number | null }>(
        `SELECT kid, (extract(epoch FROM verifies_until - now()) / 60)::int AS minutes FROM signing_keys`,
      );
      expect(new Map(rows.map((row) => [row.kid, row.minutes]))).toEqual(
        new Map([
          [before.kid, expect.closeTo(70, -1)],
          [created, null],
        ]),
      );

      await fastForward('verifies_until = now()', before.kid!);
      await untilAll(async (one) => (await publishedBy(one)).length === 1);
      expect(await isVerified(before.jwt)).toBe(false);
      expect(await isVerified(after.jwt)).toBe(true);
    });

    it('can run twice concurrently, and no key ends before its tokens', async () => {
      const { kid: first } = await tokenFrom(ports[0]!);
      const runs = await runTwoAtOnce();
      const created = runs.map(({ stderr }) => (JSON.parse(stderr) as { kid: string }).kid);
      await untilAll(async (one) => (await publishedBy(one)).length === 3);
      const { rows } = await shop.sql.query<{ kid: string }>('SELECT kid FROM signing_keys WHERE verifies_until IS NULL');
      expect(rows).toHaveLength(1);
      const [{ kid: last }] = rows as [{ kid: string }];
      expect(created).toContain(last);
      await shop.sql.query(`UPDATE signing_keys SET signs_from = signs_from - interval '31 seconds'`);
      await untilAll(async (one) => (await tokenFrom(one)).kid === last);
      expect((await publishedBy(ports[0]!)).sort()).toEqual([first, ...created].sort());
    });

    it('creates no key that the replicas could not decrypt', async () => {
      const keys = async (): Promise<number | null> => (await shop.sql.query('SELECT 1 FROM signing_keys')).rowCount;
      const before = await keys();
      const wrong = await run({ IDENTITY_SECRET: 'another secret of 32 characters or more' });
      expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('IDENTITY_SECRET') });
      expect(await keys()).toBe(before);
    });
  });

  describe('node dist/revoke-signing-key.js', () => {
    const revokedSince = async (position: number): Promise<{ kind: string; id: string }[]> => {
      const { entries } = await shop.call(identity.readRevocations, { after: position });
      return entries.map(({ kind, id }) => ({ kind, id }));
    };
    const head = async (): Promise<number> => (await shop.call(identity.readRevocations, { after: 0 })).head;

    it('ends all tokens of the key at once on every replica, and another key signs without a restart', async () => {
      const [port = 0] = ports;
      const { jwt, kid = '' } = await tokenFrom(port);
      const position = await head();
      for (const one of ports) expect(await isActiveAt(one, jwt)).toBe(true);
      const { code, stdout, stderr } = await revoke(kid);
      expect(code).toBe(0);
      const { signing } = JSON.parse(stderr) as { signing: string };
      expect(JSON.parse(stderr)).toMatchObject({ msg: 'signing keys revoked', revoked: [kid] });
      expect(stdout).toBe(
        `Revoked ${kid}. Within a second, every service refuses tokens signed with a revoked key. New tokens are signed with ${signing}.\n`,
      );
      // Gateways learn it from the log; identity itself refuses the token even before it reloads its keys.
      expect(await revokedSince(position)).toEqual([{ kind: 'signingKey', id: kid }]);
      for (const one of ports) expect(await isActiveAt(one, jwt)).toBe(false);
      await untilAll(async (one) => (await tokenFrom(one)).kid === signing);
      for (const one of ports) expect(await publishedBy(one)).not.toContain(kid);
      const { rows } = await shop.sql.query(`SELECT operation, target FROM audit_log WHERE operation LIKE '%revoke-signing-key'`);
      expect(rows).toEqual([{ operation: 'identity.revoke-signing-key', target: kid }]);
    });

    it('lets a key that was only published sign, rather than one that was replaced', async () => {
      const { kid = '' } = await tokenFrom(ports[0]!);
      await run();
      const created = JSON.parse((await run()).stderr) as { kid: string };
      const { code, stderr } = await revoke(kid);
      expect(code).toBe(0);
      expect(JSON.parse(stderr)).toMatchObject({ signing: created.kid });
      await untilAll(async (one) => (await tokenFrom(one)).kid === created.kid);
    });

    it('creates a key when the newest one is revoked, even if an older one still verifies', async () => {
      const { kid: newest = '' } = await tokenFrom(ports[0]!);
      const before = await publishedBy(ports[0]!);
      expect(before.length).toBeGreaterThan(1);
      const { signing } = JSON.parse((await revoke(newest)).stderr) as { signing: string };
      expect(before).not.toContain(signing);
      await untilAll(async (one) => (await tokenFrom(one)).kid === signing);
    });

    it('revokes all keys, for when it is unknown which one leaked', async () => {
      const { jwt } = await tokenFrom(ports[0]!);
      const before = await publishedBy(ports[0]!);
      const position = await head();
      const { stderr } = await revoke('all');
      const { signing } = JSON.parse(stderr) as { signing: string };
      expect((await revokedSince(position)).map(({ id }) => id).sort()).toEqual([...before].sort());
      await untilAll(async (one) => (await publishedBy(one)).join() === signing);
      expect(await isVerified(jwt)).toBe(false);
    });

    it('does nothing for an unknown key, and lists the existing keys', async () => {
      const position = await head();
      const [known] = await publishedBy(ports[0]!);
      const reason = `There is no signing key unknown. Existing keys: ${known}\n`;
      expect(await revoke('unknown')).toEqual({ code: 1, stdout: '', stderr: reason });
      expect(await revoke()).toMatchObject({ code: 64, stderr: expect.stringContaining('usage: node dist/revoke-signing-key.js') });
      expect(await head()).toBe(position);
    });
  });
});
