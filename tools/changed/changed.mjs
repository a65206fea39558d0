import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICES } from '../start/services.mjs';
import { packageFolders } from '../start/stamp.mjs';

/**
 * @param {string} root @param {string} since a commit
 * @returns {string[] | undefined} files that differ from it, as paths from the root; undefined if git does not know the commit (the first
 *   push of a branch, or rewritten history)
 */
export function changedFiles(root, since) {
  const git = (/** @type {string[]} */ ...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    git('rev-parse', '--verify', '--quiet', `${since}^{commit}`);
  } catch {
    return undefined;
  }
  return git('diff', '--name-only', '--no-renames', '-z', since, 'HEAD').split('\0').filter(Boolean);
}

/** Files that images do not contain (`.dockerignore`) or that only concern running them. The console uses the CSV rules of a tool. */
const NOT_IN_IMAGES = /^(docs|releases|tests|examples|tools(?!\/(plants\/csv|reconcile\/[a-z]+|start\/errors)\.mjs$)|\.github|\.ci|deploy)\/|\.md$|(spec|\.spec\.fixture|\.fake)\.ts$|^(LICENSE|CODEOWNERS|\.gitignore|\.env\.example|docker-compose\.yml|oxlint\.config\.mjs|knip\.json|jest\.(base|config)\.js)$/;

/**
 * Returns the services whose image the files change. A file of unknown use counts for all.
 * @param {string} root
 * @param {readonly string[]} files that changed, from the root
 */
export function changedServices(root, files) {
  const graph = readGraph(root);
  return SERVICES.filter((service) => {
    const folders = closure([`apps/${service}`], (folder) => graph.get(folder)?.dependencies ?? []);
    return files.some((file) => {
      if (file === 'deploy/Dockerfile' || file === '.dockerignore') return true;
      if (NOT_IN_IMAGES.test(file)) return false;
      const folder = packageOf(graph, file);
      return folder === undefined || folders.has(folder);
    });
  });
}

/**
 * What a change can break: steps of `npm test`, and packages whose unit tests must run.
 * @typedef {object} Affected
 * @property {readonly string[]} steps
 * @property {readonly string[]} packages folders
 */

/** Steps that are quick and read files of the whole repository. */
const ALWAYS = /** @type {const} */ (['lint', 'tools', 'deploy']);

/** Steps that run the whole shop. */
const WHOLE_SHOP = /** @type {const} */ (['acceptance', 'chaos', 'artefacts', 'console']);

/** The steps of packages that only contain tests. */
const STEP_OF_TESTS = /** @type {Record<string, readonly string[]>} */ ({ 'tests/acceptance': ['acceptance'], 'tests/chaos': ['chaos'], 'tests/deploy': ['artefacts'], 'tests/console': ['console'], 'examples/warehouse': ['acceptance'], 'examples/storefront': ['console'] });

/** Files with the packages and steps whose tests read them, unless these depend on the files' package. */
const READERS = /** @type {readonly (readonly [RegExp, Affected])[]} */ ([
  [/^docs\/api\/openapi\.json$/, { packages: ['apps/gateway', 'libs/client'], steps: ['acceptance'] }],
  [/^docs\/api\/postman\.json$/, { packages: ['libs/client'], steps: [] }],
  [/^libs\/client\/examples\/consume-jetstream\.mjs$/, { packages: ['apps/notifications'], steps: [] }],
  [/^docs\/integrators\.md$/, { packages: [], steps: ['acceptance'] }],
  [/^docs\/api\/asyncapi\.json$/, { packages: ['apps/notifications', 'libs/client'], steps: [] }],
  [/^releases\//, { packages: ['libs/contracts'], steps: [] }],
  [/^deploy\/postgres\/remove-old-orders\.sql$/, { packages: ['apps/store'], steps: [] }],
  [/^deploy\/nats\/nats\.conf$/, { packages: ['libs/service-testing'], steps: ['artefacts'] }],
  [/^deploy\//, { packages: [], steps: ['artefacts'] }],
  [/^(docs|\.github)\/|^[^/]+\.md$|^(LICENSE|CODEOWNERS|\.gitignore|\.env\.example|docker-compose\.yml)$/, { packages: [], steps: [] }],
]);

/**
 * @param {string} root
 * @param {readonly string[]} files that changed, from the root
 * @returns {Affected | undefined} undefined: everything
 */
export function affected(root, files) {
  const graph = readGraph(root);
  const dependents = (/** @type {string} */ needed) =>
    [...graph].filter(([, { dependencies, devDependencies }]) => [...dependencies, ...devDependencies].includes(needed)).map(([folder]) => folder);
  /** @type {Set<string>} */
  const steps = new Set(ALWAYS);
  /** @type {Set<string>} */
  const packages = new Set();
  for (const file of files) {
    const folder = packageOf(graph, file);
    const reader = READERS.find(([pattern]) => pattern.test(file))?.[1];
    if (folder !== undefined && file.endsWith('.md')) packages.add(folder);
    else if (folder !== undefined) for (const one of closure([folder], dependents)) packages.add(one);
    else if (!reader) return undefined;
    for (const one of reader?.packages ?? []) packages.add(one);
    for (const one of reader?.steps ?? []) steps.add(one);
    // Documents do not change a running shop.
    if (folder === undefined || file.endsWith('.md')) continue;
    for (const one of closure([folder], dependents)) for (const step of one.startsWith('apps/') ? WHOLE_SHOP : (STEP_OF_TESTS[one] ?? [])) steps.add(step);
  }
  const tested = [...packages].filter((folder) => /^(apps|libs)\/|^tests\/chaos$/.test(folder)).sort();
  if (tested.length > 0) steps.add('unit');
  return { steps: [...steps], packages: tested };
}

/** @typedef {Map<string, { dependencies: string[], devDependencies: string[] }>} Graph the workspace packages that each package needs, by folder */

/** @param {string} root @returns {Graph} */
function readGraph(root) {
  const packages = packageFolders(root).map((folder) => ({ folder: folder.slice(root.length + 1), ...JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }));
  const foldersOf = (/** @type {object} */ needed = {}) => packages.filter(({ name }) => name in needed).map(({ folder }) => folder);
  return new Map(packages.map((one) => [one.folder, { dependencies: foldersOf(one.dependencies), devDependencies: foldersOf(one.devDependencies) }]));
}

/** @param {Graph} graph @param {string} file @returns {string | undefined} the folder of its package */
function packageOf(graph, file) {
  const folder = file.split('/').slice(0, 2).join('/');
  return graph.has(folder) ? folder : undefined;
}

/** @param {readonly string[]} start @param {(folder: string) => readonly string[]} next */
function closure(start, next) {
  const found = new Set(start);
  for (const folder of found) for (const one of next(folder)) found.add(one);
  return found;
}
