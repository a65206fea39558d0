// `npm run freeze -- <version>`: what is there now is released. From here on it is the release before.
import { explain, StartError } from '../start/errors.mjs';
import { freeze } from './release.mjs';

try {
  const [name, ...more] = process.argv.slice(2);
  if (name === undefined || name.startsWith('-') || more.length > 0) throw new StartError('npm run freeze -- <version, or the commit that is deployed>');
  freeze(name);
  console.log(`${name} is the release before: samples and migrations are kept in libs/contracts/samples/previous. Commit them with its tag.`);
} catch (error) {
  console.log(explain(error));
  process.exitCode = 1;
}
