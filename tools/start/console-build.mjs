import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { filesBelow } from './stamp.mjs';

/** Run in the console's folder. */
export const viteArguments = ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'warn'];

/** Returns all source files of the bundle. @param {string} root @returns {string[]} */
export const consoleSources = (root) => [
  ...filesBelow(join(root, 'apps', 'console'), /\.(tsx?|js|css|html|svg|json)$/),
  ...filesBelow(join(root, 'libs', 'client', 'src'), /\.ts$/),
  join(root, 'tools', 'plants', 'csv.mjs'),
  join(root, 'pnpm-lock.yaml'),
];

/** @param {string} root */
export const consoleIsBuilt = (root) => existsSync(join(root, 'apps', 'console', 'dist', 'site', 'index.html'));
