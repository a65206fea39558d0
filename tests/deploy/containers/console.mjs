import assert from 'node:assert/strict';
import { sleep } from '../../../tools/start/processes.mjs';

const BUILD = 'plant-shop/console-build:check';
const IMAGE = 'plant-shop/console:check';
/** Of each answer these must be the same, whoever serves the console. */
const HEADERS = ['cache-control', 'content-security-policy', 'content-encoding', 'x-content-type-options', 'x-frame-options'];

/**
 * Checks the console in the gateway's image, and compares the image with the console alone to it.
 * @param {import('./report.mjs').Report} report
 * @param {import('./project.mjs').Project} project
 */
export async function checkConsole(report, project) {
  let script = '';
  await report.check('the gateway serves the console, with the settings of the demo', async () => {
    const page = await answerOf(`${project.url}/console`);
    assert.equal(page.status, 200);
    script = /\/console\/assets\/index-[^"]+\.js/.exec(page.text)?.[0] ?? '';
    const { status, headers } = await answerOf(project.url + script);
    assert.deepEqual([status, headers['cache-control'], headers['content-encoding']], [200, 'public, max-age=31536000, immutable', 'gzip']);
    const settings = JSON.parse((await answerOf(`${project.url}/console/settings.json`)).text);
    assert.deepEqual(settings, { publicUrl: project.url, oauthClient: 'plant-console', streamUrl: project.streamUrl.replace('http', 'ws') });
  });

  await report.check('build the image with the console alone', async () => {
    await project.docker(['build', '--file', 'deploy/Dockerfile', '--target', 'console', '--tag', BUILD, '.']);
    await project.docker(['build', '--file', 'deploy/console/Dockerfile', '--build-arg', `BUILD_IMAGE=${BUILD}`, '--tag', IMAGE, '.']);
  });

  const isolated = ['--read-only', '--tmpfs', '/tmp', '--tmpfs', '/etc/nginx/conf.d:uid=101', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  await report.check('the image with the console alone refuses to start without PUBLIC_URL', async () => {
    const { code, output } = await project.attempt(['run', '--rm', ...isolated, IMAGE]);
    assert.deepEqual([code, /^PUBLIC_URL is missing/m.test(output)], [78, true], output);
  });

  await report.check('it becomes healthy with a read-only file system and no capabilities, and answers as the gateway does', async () => {
    const settings = ['--env', `PUBLIC_URL=${project.url}`, '--env', `STREAM_PUBLIC_URL=${project.streamUrl.replace('http', 'ws')}`, '--env', 'CONSOLE_OAUTH_CLIENT=plant-console'];
    const id = (await project.docker(['run', '--detach', '--label', project.label, '--publish', '127.0.0.1::8080', ...isolated, ...settings, IMAGE])).trim();
    const stateOf = async () => JSON.parse(await project.docker(['inspect', id]))[0].State;
    for (const end = Date.now() + 60_000; (await stateOf()).Health.Status !== 'healthy'; await sleep(500)) {
      assert.ok(Date.now() < end && (await stateOf()).Running, (await project.attempt(['logs', id])).output);
    }
    const url = `http://${(await project.docker(['port', id, '8080'])).trim()}`;
    for (const path of ['/console', '/console/', '/console/orders/7?tab=timeline', '/console/release.js', script]) assert.deepEqual(await answerOf(url + path), await answerOf(project.url + path), path);
    await answerOf(`${url}/console/?code=some-code`);
    assert.doesNotMatch((await project.attempt(['logs', id])).output, /some-code/);
    const [own, gateways] = await Promise.all([url, project.url].map(async (base) => JSON.parse((await answerOf(`${base}/console/settings.json`)).text)));
    assert.deepEqual(own, gateways);
    for (const path of ['/console/assets/index-gone.js', '/consoles']) assert.equal((await answerOf(url + path)).status, 404, path);
    const [image] = JSON.parse(await project.docker(['image', 'inspect', IMAGE]));
    await project.docker(['rm', '--force', id]);
    return `${(image.Size / 1e6).toFixed(0)} MB`;
  });
}

/** @param {string} url */
async function answerOf(url) {
  const response = await fetch(url, { headers: { 'accept-encoding': 'gzip' }, signal: AbortSignal.timeout(15_000) });
  const text = await response.text();
  return { status: response.status, text, headers: Object.fromEntries(HEADERS.map((name) => [name, response.headers.get(name)])) };
}
