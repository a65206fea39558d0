import { serviceSettings } from '../../libs/platform/dist/service/settings.js';
import { DATABASES } from '../start/credentials.mjs';
import { SERVICES } from '../start/services.mjs';

/** @typedef {import('../../libs/platform/dist/config.js').Setting<unknown>} Setting */

const introduction = `# Settings

\`npm run settings\` generates this page from the services' config classes
(\`apps/<service>/src/config.ts\`).

Settings are environment variables, read once at start. A service that finds some missing or invalid
lists all of them and exits with code 78. \`<VARIABLE>_FILE\` names a file with the value, which is
how secrets are mounted. An empty variable counts as absent; **needed** means that there is no
default. \`npm start\` makes the demo
[laxer than production](../tools/start/README.md#laxer-than-production); manifests set what production
needs ([deploy](../deploy/README.md)).
`;

/** @returns {Promise<string>} docs/settings.md */
export async function reference() {
  const common = Object.values(serviceSettings);
  const own = /** @type {Record<string, Setting[]>} */ ({});
  for (const service of SERVICES) {
    own[service] = (await settingsOf(service)).filter(({ variable }) => !common.some((one) => one.variable === variable));
  }
  const shared = settingsOfEveryDatabase(own);
  const sections = [section('Every service', common.map(row)), section('Every service with a database', shared.map(sharedRow))];
  for (const service of SERVICES) {
    sections.push(section(service, (own[service] ?? []).filter((one) => !shared.flat().includes(one)).map(row)));
  }
  return [introduction, ...sections].join('\n');
}

/** Returns the settings that all services with a database describe with the same text, each once per service. @param {Record<string, Setting[]>} own */
function settingsOfEveryDatabase(own) {
  const [first, ...others] = DATABASES.map((service) =>
    (own[service] ?? []).map((setting) => ({ setting, text: withPlaceholder(service, setting.variable) + setting.description })),
  );
  return (first ?? []).flatMap(({ setting, text }) => {
    const same = others.flatMap((settings) => settings.filter((one) => one.text === text).map((one) => one.setting));
    return same.length === others.length ? [[setting, ...same]] : [];
  });
}

/** @param {string} service @param {string} variable */
const withPlaceholder = (service, variable) => variable.replace(`${service.toUpperCase()}_`, '<SERVICE>_');

/** Returns all settings of a service and of its migrations. @param {string} service @returns {Promise<Setting[]>} */
export async function settingsOf(service) {
  const config = await import(`../../apps/${service}/dist/config.js`);
  return Object.values({ ...config[`${service}Settings`], ...config.migrationSettings });
}

/** @param {string} title @param {readonly string[]} rows */
function section(title, rows) {
  return `## ${title}\n| variable | default | meaning |\n|---|---|---|\n${rows.join('')}`;
}

/** @param {Setting} setting */
function row({ variable, defaultText, description, neededWith }) {
  return `| \`${variable}\` | ${byDefault(defaultText, neededWith)} | ${description} |\n`;
}

/** @param {readonly Setting[]} settings one for each of `DATABASES` */
function sharedRow(settings) {
  const [{ variable, description }] = /** @type {[Setting]} */ (settings);
  const defaults = settings.map(({ defaultText }) => byDefault(defaultText, undefined));
  const shown = new Set(defaults).size === 1 ? defaults[0] : DATABASES.map((service, n) => `${service} ${defaults[n]}`).join(', ');
  return `| \`${withPlaceholder(DATABASES[0], variable)}\` | ${shown} | ${description} |\n`;
}

/** @param {string | undefined} text @param {Setting['neededWith']} neededWith */
function byDefault(text, neededWith) {
  if (neededWith) return `**needed** with \`${neededWith.setting.variable}=${neededWith.value}\``;
  if (text === undefined) return '**needed**';
  return text === '' ? 'empty' : `\`${text}\``;
}
