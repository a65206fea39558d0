import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { attempt } from '../../tools/start/command.mjs';
import { fetchBinary } from '../../tools/start/debian-package.mjs';
import { cacheFolder } from '../../tools/start/system-user.mjs';
import { ROOT } from '../../tools/start/toolchain.mjs';

/**
 * A program that renders kustomizations.
 * @typedef {object} Renderer
 * @property {string} name with its version
 * @property {(folder: string) => Promise<Manifest[]>} render folder: from the root of the repository
 */

/** @typedef {Record<string, any> & { kind: string, metadata: { name: string, namespace?: string, labels?: Record<string, string>, annotations?: Record<string, string> } }} Manifest */

/**
 * Returns this machine's kubectl, if installed, and Debian 12's, the oldest supported one. Both must render the same manifests.
 * @returns {Promise<Renderer[]>} empty if neither is available
 */
export async function renderers() {
  const installed = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean).map((folder) => join(folder, 'kubectl')).find((path) => existsSync(path));
  const cached = join(cacheFolder(undefined), 'kubectl');
  const signal = AbortSignal.timeout(60_000);
  if (!existsSync(cached)) await fetchBinary({ name: 'kubernetes-client', binary: 'kubectl' }, cached, { signal, say: console.log });
  const binaries = [installed, cached].filter((path) => path !== undefined && existsSync(path));
  return Promise.all(binaries.map((binary) => rendererOf(/** @type {string} */ (binary))));
}

/** @param {string} binary @returns {Promise<Renderer>} */
async function rendererOf(binary) {
  const version = await run(binary, ['version', '--client', '--output=json']);
  return {
    name: `kubectl ${JSON.parse(version).clientVersion.gitVersion}`,
    render: async (folder) => {
      // A time is text, as for kubectl.
      const documents = parseAllDocuments(await run(binary, ['kustomize', join(ROOT, folder)]), { version: '1.1', customTags: (tags) => tags.filter((one) => typeof one === 'string' || one.tag !== 'tag:yaml.org,2002:timestamp') });
      return documents.map((document) => {
        if (document.errors.length > 0) throw document.errors[0];
        return normal(document.toJS());
      });
    },
  };
}

/** Removes what only old versions write: empty maps, and namespaces of what is in none, which the API server drops. @param {Manifest} manifest */
function normal(manifest) {
  const { annotations } = manifest.metadata;
  if (manifest.kind === 'PriorityClass') delete manifest.metadata.namespace;
  if (annotations !== undefined && Object.keys(annotations).length === 0) delete manifest.metadata.annotations;
  return manifest;
}

/** @param {string} binary @param {string[]} args */
async function run(binary, args) {
  // Discards deprecation warnings on standard error.
  const { code, output } = await attempt('sh', ['-c', '"$0" "$@" 2>/dev/null', binary, ...args]);
  if (code !== 0) throw new Error(`${binary} ${args.join(' ')}: exit code ${code}; ${(await attempt(binary, args)).output}`);
  return output;
}
