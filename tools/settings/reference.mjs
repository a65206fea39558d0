import { serviceSettings } from '../../libs/platform/dist/service/settings.js';
import { SERVICES } from '../start/services.mjs';

/** @typedef {import('../../libs/platform/dist/config.js').Setting<unknown>} Setting */

const introduction = `# Settings

\`npm run settings\` generates this page from the services' config classes
(\`apps/<service>/src/config.ts\`); a test keeps it current.

Settings are environment variables, read once at start. A service that finds some missing or invalid
lists all of them and exits with code 78. \`<VARIABLE>_FILE\` names a file with the value, which is
how secrets are mounted. An empty variable counts as absent; **needed** means that there is no
default. \`npm start\` sets what the demo needs ([tools/start](../tools/start/README.md)), manifests
what production needs ([deploy](../deploy/README.md)).
`;

/** @returns {Promise<string>} docs/settings.md */
export async function reference() {
  const common = Object.values(serviceSettings);
  const sections = [section('Every service', common)];
  for (const service of SERVICES) {
    const own = await settingsOf(service);
    sections.push(section(service, own.filter(({ variable }) => !common.some((one) => one.variable === variable))));
  }
  return [introduction, ...sections].join('\n');
}

/** Returns all settings of a service and of its migrations. @param {string} service @returns {Promise<Setting[]>} */
export async function settingsOf(service) {
  const config = await import(`../../apps/${service}/dist/config.js`);
  return Object.values({ ...config[`${service}Settings`], ...config.migrationSettings });
}

/** @param {string} title @param {readonly Setting[]} settings */
function section(title, settings) {
  return `## ${title}\n| variable | default | meaning |\n|---|---|---|\n${settings.map(row).join('')}`;
}

/** @param {Setting} setting */
function row({ variable, defaultText, description, neededWith }) {
  return `| \`${variable}\` | ${byDefault(defaultText, neededWith)} | ${description} |\n`;
}

/** @param {string | undefined} text @param {Setting['neededWith']} neededWith */
function byDefault(text, neededWith) {
  if (neededWith) return `**needed** with \`${neededWith.setting.variable}=${neededWith.value}\``;
  if (text === undefined) return '**needed**';
  return text === '' ? 'empty' : `\`${text}\``;
}
