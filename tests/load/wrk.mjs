import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { attempt, run } from '../../tools/start/command.mjs';
import { cacheFolder } from '../../tools/start/system-user.mjs';

/** wrk and its uncommon dependencies. */
const PACKAGES = ['wrk', 'libluajit-5.1-2', 'libluajit-5.1-common'];

/**
 * wrk uses a few microseconds a request; autocannon uses as much CPU as the gateway on the same machine.
 * @typedef {{ command: string, env: NodeJS.ProcessEnv }} Wrk
 */

/** @type {Promise<Wrk | undefined> | undefined} */
let found;

/** Returns the installed wrk, or Debian's, unpacked into the cache. @returns {Promise<Wrk | undefined>} */
export const findWrk = () => (found ??= find());

async function find() {
  const installed = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'wrk')).find((file) => existsSync(file));
  if (installed) return { command: installed, env: process.env };
  const home = join(cacheFolder(undefined), 'wrk');
  if (!existsSync(home) && !(await fetch(home))) return undefined;
  const libraries = join(home, 'usr', 'lib');
  const folders = readdirSync(libraries).map((machine) => join(libraries, machine));
  const scripts = join(home, 'usr', 'share', 'luajit-2.1.0-beta3', '?.lua');
  return { command: join(home, 'usr', 'bin', 'wrk'), env: { ...process.env, LD_LIBRARY_PATH: folders.join(':'), LUA_PATH: `${scripts};;` } };
}

/** @param {string} home */
async function fetch(home) {
  if (!existsSync('/usr/bin/apt-get')) return false;
  const work = `${home}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  try {
    if ((await attempt('apt-get', ['-q', '-o', 'APT::Sandbox::User=root', 'download', ...PACKAGES], { cwd: work })).code !== 0) return false;
    for (const archive of readdirSync(work).filter((file) => file.endsWith('.deb'))) {
      await run('dpkg-deb', ['-x', archive, '.'], { what: 'Unpacking wrk', cwd: work });
      rmSync(join(work, archive));
    }
    renameSync(work, home);
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Runs closed-loop load: each connection sends a random one of `requests` after each response.
 * @param {Wrk} wrk
 * @param {{ url: string, connections: number, seconds: number, requests: readonly import('autocannon').Request[] }} load
 * @returns {Promise<{ requests: number, seconds: number, p50: number, p99: number, wrong: number, cpuSeconds: number }>} latencies in milliseconds; CPU of wrk
 */
export async function runWrk({ command, env }, { url, connections, seconds, requests }) {
  const folder = mkdtempSync(join(tmpdir(), 'wrk-'));
  const script = join(folder, 'requests.lua');
  writeFileSync(script, scriptOf(requests));
  const args = ['--threads', '1', '--connections', `${connections}`, '--duration', `${seconds}s`, '--timeout', '30s', '--script', script, url];
  const output = await run(command, args, { what: 'wrk', env }).finally(() => rmSync(folder, { recursive: true }));
  const line = /^RESULT (.*)$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`wrk printed no result:\n${output}`);
  return JSON.parse(line);
}

/** @param {readonly import('autocannon').Request[]} requests */
function scriptOf(requests) {
  const lines = requests.map(({ method = 'GET', path = '/', headers = {}, body }) => {
    const given = Object.entries(headers).map(([name, value]) => `[${text(name)}]=${text(`${value}`)}`);
    return `  {${text(method)}, ${text(path)}, {${given.join(',')}}, ${body === undefined ? 'nil' : text(`${body}`)}},`;
  });
  return `local wanted = {
${lines.join('\n')}
}
local ready = {}
init = function()
  for n, one in ipairs(wanted) do ready[n] = wrk.format(one[1], one[2], one[3], one[4]) end
end
request = function() return ready[math.random(#ready)] end
done = function(summary, latency)
  local e = summary.errors
  print(string.format('RESULT {"requests":%d,"seconds":%f,"cpuSeconds":%f,"p50":%f,"p99":%f,"wrong":%d}', summary.requests, summary.duration / 1e6, os.clock(),
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, e.status + e.connect + e.read + e.write + e.timeout))
end
`;
}

/** Returns a Lua string literal: JSON's is one for ASCII without control characters. @param {string} value */
const text = (value) => JSON.stringify(value);
