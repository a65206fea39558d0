import { ConfigError, readConfig } from '../../libs/platform/dist/config.js';
import { environmentOf } from './dockerfile.mjs';

// The settings are read from the services' config classes.

const FILE = '_FILE';

/** Settings that manifests may only reference as files. */
const SECRET = /(PASSWORD|SECRET|TOKEN|DATABASE_URL|ACCESS_KEY)$/;

/** Variables of Node and OpenTelemetry. */
const NOT_OURS = /^(NODE_OPTIONS|OTEL_[A-Z_]+)$/;

/** Returns a placeholder for a secret, whose value is only in its file. @param {string} variable */
const sampleOf = (variable) => (variable.endsWith('DATABASE_URL') ? 'postgresql://role:password@database/name' : `s${'0'.repeat(64)}`);

/**
 * Checks the variables of a process.
 * @param {{ settings: import('../../libs/platform/dist/config.js').Settings, together?: (config: any) => readonly string[] }} wanted
 * @param {Record<string, string>} given
 * @returns {string[]} faults in words; empty if the process would start
 */
export function faultsOf({ settings, together }, given) {
  const known = Object.values(settings).map(({ variable }) => variable);
  const faults = [];
  /** @type {Record<string, string>} */
  const environment = {};
  for (const [name, value] of Object.entries(given)) {
    const isFile = name.endsWith(FILE);
    const variable = isFile ? name.slice(0, -FILE.length) : name;
    if (typeof value !== 'string') faults.push(`${name} is not text`);
    if (!known.includes(variable) && !NOT_OURS.test(variable)) faults.push(`${name} is not a setting`);
    if (SECRET.test(variable) && !isFile) faults.push(`${name} is a secret: set it as ${variable}${FILE}`);
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
 * @returns {Promise<Parameters<typeof faultsOf>[0]>} the settings of its `main.ts`
 */
export async function settingsOf(service) {
  const config = await import(`../../apps/${service}/dist/config.js`);
  return { settings: config[`${service}Settings`], together: config.faultsOf };
}

/** Returns the image's own variables that are settings of this service. @param {string} service @returns {Promise<Record<string, string>>} */
export async function imageSettingsOf(service) {
  const known = Object.values((await settingsOf(service)).settings).map(({ variable }) => variable);
  return Object.fromEntries(Object.entries(environmentOf(service)).filter(([name]) => known.includes(name)));
}

/**
 * @param {string} service
 * @returns {Promise<Parameters<typeof faultsOf>[0]>} the settings of its `migrate.ts`
 */
export async function migrationSettingsOf(service) {
  return { settings: (await import(`../../apps/${service}/dist/config.js`)).migrationSettings };
}
