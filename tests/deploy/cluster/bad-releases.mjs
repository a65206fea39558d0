import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SERVICES } from '../services.mjs';

/** Faults begin when a pod has started, or it would never be ready. */
const STARTED_S = 20;

/** Before the service's own modules, and not in the programs that release.sh runs in the pod. @param {string} body */
const preloaded = (body) => `--import=data:text/javascript,${encodeURIComponent(`if (process.argv[1]?.endsWith("main.js")) { ${body} }`)}`;

/** Wraps what the service does for each call; `then` gets the function that does it. @param {string} service @param {string} then */
function wrapped(service, then) {
  const [file, name, methods] = service === 'gateway' ? ['client', 'RpcClient', ['call', 'callRaw']] : ['server', 'RpcServer', ['execute']];
  return `const { ${name}: one } = await import("file:///app/node_modules/@plant-shop/platform/dist/rpc/${file}.js");
    for (const name of ${JSON.stringify(methods)}) { const real = one.prototype[name]; one.prototype[name] = function (...args) { const act = () => real.apply(this, args); if (process.uptime() < ${STARTED_S}) return act(); ${then} }; }`;
}

/**
 * Bad releases of a service: what its pods do besides, or what its migration does instead, and what release.sh says.
 * @type {Record<string, { pods?: (service: string) => string, migration?: string[], line: RegExp }>}
 */
const BAD = {
  failing: { pods: (service) => wrapped(service, 'if (Math.random() < 0.5) throw new Error("seeded"); return act();'), line: /failed \d+ of \d+ requests|its probe failed/ },
  slow: { pods: (service) => wrapped(service, 'return new Promise((resolve) => setTimeout(resolve, 300)).then(act);'), line: /took \d+ ms a request|failed \d+ of \d+ requests|its probe failed/ },
  // Whoever checks an answer refuses it; what passes is found by the probe.
  wrong: {
    pods: (service) => wrapped(service, 'return Promise.resolve(act()).then((answer) => JSON.parse(JSON.stringify(answer ?? null).replaceAll(/"(name|username|status)":"[^"]*"/g, `"$1":"wrong"`)) ?? undefined);'),
    line: /its probe failed|failed \d+ of \d+ requests/,
  },
  leaking: { pods: () => 'const kept = []; setInterval(() => kept.push(Buffer.alloc(1_000_000, 1)), 100);', line: /a new pod (uses \d+ MiB|ended)/ },
  crashing: { pods: () => 'setTimeout(() => { console.error("seeded"); process.exit(1); }, 20_000);', line: /a new pod (ended|exits)/ },
  migrating: { migration: ['--eval', 'console.error("column exists"); process.exit(3)'], line: /its migration failed.*column exists/ },
};

/** All of them, as `store-slow`. The gateway has no migration. */
export const BAD_RELEASES = SERVICES.flatMap((service) => Object.keys(BAD).map((kind) => `${service}-${kind}`)).filter((name) => name !== 'gateway-migrating');

/**
 * Releases a bad version: the images of an overlay with a seeded fault.
 * @param {string} name of BAD_RELEASES
 * @param {{ deploy: string, overlay: string, namespace: string, probe: string }} shop
 * @returns {Promise<{ isUndone: boolean, said: string }>} whether it was undone, for the right reason
 */
export async function releaseBadly(name, { deploy, overlay, namespace, probe }) {
  const [service = '', kind = ''] = name.split('-');
  const { pods, migration, line } = BAD[kind] ?? (() => { throw new Error(`no bad release ${name}`); })();
  const folder = mkdtempSync(join(tmpdir(), 'plant-shop-bad-'));
  try {
    cpSync(deploy, folder, { recursive: true });
    mkdirSync(join(folder, service, 'overlays/bad'));
    const patch = migration
      ? { target: { kind: 'Job' }, patch: JSON.stringify([{ op: 'replace', path: '/spec/template/spec/containers/0/args', value: migration }]) }
      : { target: { kind: 'Deployment' }, patch: JSON.stringify([{ op: 'add', path: '/spec/template/spec/containers/0/env/-', value: { name: 'NODE_OPTIONS', value: preloaded(pods?.(service) ?? '') } }]) };
    writeFileSync(join(folder, service, 'overlays/bad/kustomization.yaml'), `namespace: ${namespace}\nresources: [../${overlay}]\npatches: [${JSON.stringify(patch)}]\n`);
    const before = await stateOf(service, namespace);
    const { code, said } = await promisify(execFile)('sh', [join(folder, 'release.sh'), service, 'bad'], { env: { ...process.env, PROBE: probe } }).then(
      ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
      (error) => ({ code: error.code, said: error.stdout + error.stderr }),
    );
    const isUndone = code === 1 && line.test(said) && said.includes('Undone') && (await stateOf(service, namespace)) === before;
    return { isUndone, said: said.trim().split('\n').findLast((/** @type {string} */ one) => one.includes('is not released')) ?? said };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What its pods are made from. @param {string} service @param {string} namespace */
async function stateOf(service, namespace) {
  const { stdout } = await promisify(execFile)('kubectl', ['--namespace', namespace, 'get', `deployment/${service}`, '--output', 'jsonpath={.spec.template}{.spec.paused}']);
  return stdout;
}
