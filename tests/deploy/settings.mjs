import { ConfigError, readConfig } from '../../libs/platform/dist/config.js';
import { environmentOf } from './dockerfile.mjs';

// What services want to be told is read from their own config classes, never from a list here.

const FILE = '_FILE';

/** These never stand in a manifest themselves. */
const SECRET = /(PASSWORD|SECRET|TOKEN|DATABASE_URL|ACCESS_KEY)$/;

/** Read by Node and the telemetry library themselves. */
const NOT_OURS = /^(NODE_OPTIONS|OTEL_[A-Z_]+)$/;

/** A value for each secret, which only its file holds. @param {string} variable */
const sampleOf = (variable) => (variable.endsWith('DATABASE_URL') ? 'postgresql://role:password@database/name' : `s${'0'.repeat(64)}`);

/**
 * What is wrong with the variables that somebody sets for a process.
 * @param {{ settings: import('../../libs/platform/dist/config.js').Settings, together?: (config: any) => readonly string[] }} wanted
 * @param {Record<string, string>} given
 * @returns {string[]} faults in words, none when the process would start with them
 */
export function faultsOf({ settings, together }, given) {
  const known = Object.values(settings).map(({ variable }) => variable);
  const faults = [];
  /** @type {Record<string, string>} */
  const environment = {};
  for (const [name, value] of Object.entries(given)) {
    const isFile = name.endsWith(FILE);
    const variable = isFile ? name.slice(0, -FILE.length) : name;
    if (typeof value !== 'string') faults.push(`${name} is no text`);
    if (!known.includes(variable) && !NOT_OURS.test(variable)) faults.push(`${name} is no setting`);
    if (SECRET.test(variable) && !isFile) faults.push(`${name} is a secret: give it as ${variable}${FILE}`);
    environment[variable] = isFile ? sampleOf(variable) : value;
  }
  try {
    readConfig(settings, environment, together);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    faults.push(...error.faults);
  }
  return faults;
}

/**
 * @param {string} service
 * @returns {Promise<Parameters<typeof faultsOf>[0]>} what its `main.ts` reads
 */
export async function settingsOf(service) {
  const config = await import(`../../apps/${service}/dist/config.js`);
  return { settings: config[`${service}Settings`], together: config.faultsOf };
}

/** What the image sets for one of its five services; it sets the same for all. @param {string} service @returns {Promise<Record<string, string>>} */
export async function imageSettingsOf(service) {
  const known = Object.values((await settingsOf(service)).settings).map(({ variable }) => variable);
  return Object.fromEntries(Object.entries(environmentOf(service)).filter(([name]) => known.includes(name)));
}

/**
 * @param {string} service
 * @returns {Promise<Parameters<typeof faultsOf>[0]>} what its `migrate.ts` reads
 */
export async function migrationSettingsOf(service) {
  return { settings: (await import(`../../apps/${service}/dist/config.js`)).migrationSettings };
}
