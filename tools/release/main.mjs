// `npm run freeze -- <service> <version>`: today's state of the service is its release. From here on it is the last one.
import { explain, StartError } from '../start/errors.mjs';
import { SERVICES } from '../start/services.mjs';
import { freeze } from './releases.mjs';

try {
  const [name, version, ...more] = process.argv.slice(2);
  const service = SERVICES.find((one) => one === name);
  if (!service || version === undefined || more.length > 0) throw new StartError(`npm run freeze -- <${SERVICES.join(' | ')}> <version>`);
  const tag = freeze(service, version);
  console.log(`${tag} is written to releases/, apps/${service}/package.json and apps/${service}/CHANGELOG.md.`);
  console.log(`Commit them, tag the commit on main (git tag ${tag}), and push the tag: it starts .github/workflows/release.yml.`);
} catch (error) {
  console.log(explain(error));
  process.exitCode = 1;
}
