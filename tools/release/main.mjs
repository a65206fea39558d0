// `npm run freeze -- <service> <version>`, and commands of the release workflow: `check <tag>`, `deploy <service or console> <image> <digest>`.
import { explain, StartError } from '../start/errors.mjs';
import { SERVICES } from '../start/services.mjs';
import { deployImage, releaseOf } from './publish.mjs';
import { freeze } from './releases.mjs';

const usage = `npm run freeze -- <${SERVICES.join(' | ')}> <version>`;

try {
  run(process.argv.slice(2));
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}

/** @param {string[]} args @throws StartError */
function run([command, first = '', ...more]) {
  const [second, third] = more;
  const service = SERVICES.find((one) => one === first);
  const part = service ?? (first === 'console' ? first : undefined);
  if (command === 'freeze' && service && second !== undefined && more.length === 1) {
    const tag = freeze(service, second);
    console.log(`${tag} is written to releases/, apps/${service}/package.json and apps/${service}/CHANGELOG.md.`);
    console.log(`Commit them, tag the commit on main (git tag ${tag}), and push the tag: it starts .github/workflows/release.yml.`);
  } else if (command === 'check' && more.length === 0) {
    const release = releaseOf(first);
    // GitHub's format of a step's outputs.
    console.log(`service=${release.service}\nversion=${release.version}`);
  } else if (command === 'deploy' && part && second !== undefined && third !== undefined && more.length === 2) {
    deployImage(part, second, third);
  } else throw new StartError(usage);
}
