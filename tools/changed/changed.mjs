import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICES } from '../start/services.mjs';
import { packageFolders } from '../start/stamp.mjs';

/** What is in no image: `.dockerignore` leaves it out, or it says only how images are run. */
const NOT_IN_IMAGES = /^(docs|releases|tests|tools|\.github|\.ci|deploy)\/|\.md$|^(LICENSE|CODEOWNERS|\.gitignore|\.env\.example|docker-compose\.yml|eslint\.config\.js|jest\.(base|config)\.js)$/;

/**
 * The folders whose content is in the image of a service: its own, and the libs that it needs to run.
 * @param {string} root @param {string} service
 * @returns {string[]} from the root
 */
function foldersOf(root, service) {
  const packages = packageFolders(root).map((folder) => ({ folder: folder.slice(root.length + 1), ...JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }));
  const found = new Set([`apps/${service}`]);
  for (const folder of found) {
    const { dependencies = {} } = packages.find((one) => one.folder === folder) ?? {};
    for (const { name, folder: needed } of packages) if (name in dependencies) found.add(needed);
  }
  return [...found];
}

/**
 * Services whose image would be another one. A file that we do not know the use of counts for all of them.
 * @param {string} root
 * @param {readonly string[]} files that changed, from the root
 */
export function changedServices(root, files) {
  return SERVICES.filter((service) => {
    const folders = foldersOf(root, service);
    return files.some((file) => {
      if (file === `deploy/${service}/Dockerfile` || file === '.dockerignore') return true;
      if (NOT_IN_IMAGES.test(file)) return false;
      const [parent = '', name = ''] = file.split('/');
      const isPackage = ['apps', 'libs'].includes(parent) && existsSync(join(root, parent, name, 'package.json'));
      return isPackage ? folders.includes(`${parent}/${name}`) : true;
    });
  });
}
