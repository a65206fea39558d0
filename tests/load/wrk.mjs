import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../tools/start/command.mjs';
import { findProgram } from './debian.mjs';

/** @typedef {import('./debian.mjs').Program} Program */

/** wrk and its uncommon dependencies. It uses a few microseconds a request; autocannon uses as much CPU as the gateway. */
const PACKAGES = ['wrk', 'libluajit-5.1-2', 'libluajit-5.1-common'];

/** @type {Promise<Program | undefined> | undefined} */
let found;

/** Returns the installed wrk, or Debian's. @returns {Promise<Program | undefined>} */
export const findWrk = () => (found ??= findProgram('wrk', PACKAGES));

/**
 * Runs closed-loop load: each connection sends a random one of `requests` after each response.
 * @param {Program} wrk
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
