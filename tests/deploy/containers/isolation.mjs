import assert from 'node:assert/strict';
import { SERVICES } from '../../../tools/start/services.mjs';
import { sleep } from '../../../tools/start/processes.mjs';

/**
 * Checks what containers may do and reach.
 * @param {import('./report.mjs').Report} report
 * @param {import('./project.mjs').Project} project
 */
export async function isolation(report, project) {
  for (const service of SERVICES) {
    await report.check(`${service}: runs as uid 10001 without capabilities and writes only to /tmp`, async () => {
      const script = 'id -u; sed -nE "s/^(CapEff|NoNewPrivs):\\s*//p" /proc/self/status; touch /x /app/x 2> /dev/null && echo writable; touch /tmp/x && echo tmp';
      const { output } = await project.exec(service, ['sh', '-c', script]);
      assert.equal(output.trim().replace(/\s+/g, ' '), '10001 0000000000000000 1 tmp');
    });

    await report.check(`${service}: CPU, memory, processes and logs are bounded`, async () => {
      const { HostConfig: host } = await project.inspect(service);
      assert.deepEqual([host.NanoCpus, host.Memory, host.PidsLimit], [1e9, 512 * 2 ** 20, 200]);
      assert.deepEqual(host.LogConfig, { Type: 'local', Config: { 'max-file': '5', 'max-size': '10m' } });
    });

    await report.check(`${service}: the image has a version label and no package manager`, async () => {
      const [image] = JSON.parse(await project.docker(['image', 'inspect', `plant-shop/${service}:check`]));
      assert.equal(image.Config.Labels['org.opencontainers.image.version'], 'check');
      const { code } = await project.exec(service, ['sh', '-c', '! command -v npm npx corepack yarn pnpm']);
      assert.equal(code, 0);
      return `${(image.Size / 1e6).toFixed(0)} MB`;
    });
  }

  const connects = async (/** @type {string} */ service, /** @type {string} */ host, /** @type {number} */ port) => {
    const script = `require('net').connect({ host: '${host}', port: ${port}, timeout: 4000 }).on('connect', () => process.exit(0)).on('timeout', () => process.exit(1)).on('error', () => process.exit(1))`;
    return (await project.exec(service, ['node', '-e', script])).code === 0;
  };
  await report.check('the store reaches Postgres and NATS but not the host', async () => {
    const reached = await Promise.all([connects('store', 'postgres', 5432), connects('store', 'nats', 4222), connects('store', 'host.docker.internal', Number(new URL(project.url).port))]);
    assert.deepEqual(reached, [true, true, false]);
  });
  await report.check('the gateway reaches NATS but not Postgres', async () => {
    assert.deepEqual(await Promise.all([connects('gateway', 'nats', 4222), connects('gateway', 'postgres', 5432)]), [true, false]);
  });
}

/**
 * Behind a proxy all clients share an address, unless the gateway trusts the proxy.
 * @param {import('./report.mjs').Report} report
 * @param {import('./project.mjs').Project} project
 */
export async function trustedProxy(report, project) {
  const limit = 5;
  const from = async (/** @type {string} */ address, /** @type {string} */ path) => {
    const response = await fetch(project.url + path, { headers: { 'x-forwarded-for': address }, signal: AbortSignal.timeout(15_000) });
    await response.body?.cancel();
    return response.status;
  };
  const lockedOut = async (/** @type {NodeJS.ProcessEnv} */ settings) => {
    await project.up(['gateway', 'identity'], { LOGIN_LIMIT_PER_ADDRESS: `${limit}`, ...settings });
    await project.ready(60);
    for (let n = 0; n < limit + 1; n += 1) await from('203.0.113.1', `/v3/user/login?username=nobody-${n}&password=wrong`);
    // Failures are counted after the response.
    await sleep(500);
    return from('198.51.100.1', '/v3/user/login?username=admin&password=admin-password');
  };
  await report.check('TRUSTED_PROXIES: failed logins of one client behind a proxy lock out no other', async () => {
    const [network] = JSON.parse(await project.docker(['network', 'inspect', 'plant-shop-check_front']));
    assert.equal(await lockedOut({ TRUSTED_PROXIES: network.IPAM.Config[0].Gateway }), 200);
    assert.equal(await lockedOut({}), 429, 'without the setting they do');
  });
  await project.up();
  await project.ready(60);
}
