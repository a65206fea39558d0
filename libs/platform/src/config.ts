import { readFileSync } from 'node:fs';

/** One setting: its environment variable, its documentation and its parser. It is required unless it has a default. */
export interface Setting<T> {
  readonly variable: string;
  readonly description: string;
  readonly defaultText: string | undefined;
  /** If present, the setting is required only while another setting has this value; otherwise it may be undefined. */
  readonly neededWith?: { readonly setting: Setting<string>; readonly value: string };
  /** Throws an Error whose message completes the sentence "VARIABLE must …". */
  readonly parse: (text: string) => T;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;
export type Config<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** Reports all faults of the environment at once, so that one failed start shows everything that has to be fixed. */
export class ConfigError extends Error {
  constructor(readonly faults: readonly string[]) {
    super(`The configuration is invalid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

interface SettingOptions {
  readonly description: string;
  /** The text used when the variable is absent or empty. */
  readonly default?: string;
}

const setting = <T>(variable: string, documented: SettingOptions, parse: (text: string) => T): Setting<T> => ({
  variable,
  description: documented.description,
  defaultText: documented.default,
  parse,
});

export const text = (variable: string, documented: SettingOptions): Setting<string> =>
  setting(variable, documented, (given) => given);

export const integer = (
  variable: string,
  documented: SettingOptions & { readonly min: number; readonly max: number },
): Setting<number> =>
  setting(variable, documented, (given) => {
    const value = Number(given);
    if (!/^-?\d+$/.test(given) || value < documented.min || value > documented.max) {
      throw new Error(`be a whole number from ${documented.min} to ${documented.max}`);
    }
    return value;
  });

/** A TCP port; 0 lets the system choose one. */
export const port = (variable: string, documented: SettingOptions): Setting<number> =>
  integer(variable, { ...documented, min: 0, max: 65_535 });

export const flag = (variable: string, documented: SettingOptions): Setting<boolean> =>
  setting(variable, documented, (given) => {
    if (given !== 'true' && given !== 'false') throw new Error('be true or false');
    return given === 'true';
  });

export const choice = <const T extends string>(
  variable: string,
  choices: readonly T[],
  documented: SettingOptions,
): Setting<T> =>
  setting(variable, documented, (given) => {
    const found = choices.find((one) => one === given);
    if (found === undefined) throw new Error(`be one of ${choices.join(', ')}`);
    return found;
  });

export const url = (variable: string, schemes: readonly string[], documented: SettingOptions): Setting<string> =>
  setting(variable, documented, (given) => {
    if (given === '' && documented.default === '') return '';
    const scheme = URL.canParse(given) ? new URL(given).protocol.slice(0, -1) : undefined;
    if (scheme === undefined || !schemes.includes(scheme)) throw new Error(`be a URL with ${schemes.join(' or ')}`);
    return given.replace(/\/$/, '');
  });

/** A comma-separated list. Ignores spaces around entries; an empty text is an empty list. */
export const list = (
  variable: string,
  documented: SettingOptions & { readonly each: string; readonly isValid: (entry: string) => boolean },
): Setting<readonly string[]> =>
  setting(variable, { default: '', ...documented }, (given) => {
    const entries = given.split(',').map((entry) => entry.trim()).filter((entry) => entry !== '');
    if (!entries.every(documented.isValid)) throw new Error(`hold ${documented.each}, separated by commas`);
    return entries;
  });

/** A secret of at least 32 characters. Error texts never contain it. */
export const secret = (variable: string, documented: SettingOptions): Setting<string> =>
  setting(variable, documented, (given) => {
    if (given.length < 32) throw new Error('have at least 32 characters');
    return given;
  });

/** A comma-separated list of secrets, which cannot contain commas. */
export const secrets = (variable: string, documented: SettingOptions): Setting<readonly string[]> => {
  const one = secret(variable, documented);
  return { ...one, parse: (text) => text.split(',').map((entry) => one.parse(entry.trim())) };
};

/** A setting that is required only while another one has a certain value; otherwise it may be undefined. */
export const neededWith = <Value extends string, T>(
  other: Setting<Value>,
  value: Value,
  one: Setting<T>,
): Setting<T | undefined> => ({ ...one, neededWith: { setting: other, value } });

/**
 * Reads the environment. Call it once, from a service's `main.ts`, never at import. Every variable may be set as `<VARIABLE>_FILE`
 * instead, the path of a file with the value, for mounted secrets.
 * @param faultsOf returns the faults of settings that are valid each, but not together
 * @throws ConfigError with all faults
 */
export function readConfig<S extends Settings>(
  settings: S,
  environment: NodeJS.ProcessEnv,
  faultsOf: (config: Config<S>) => readonly string[] = () => [],
): Config<S> {
  const faults: string[] = [];
  const values = Object.entries(settings).map(([name, one]) => {
    const given = textOf(one, environment);
    if (given instanceof Error) {
      faults.push(given.message);
      return [name, undefined];
    }
    if (given === undefined) {
      if (one.neededWith && textOf(one.neededWith.setting, environment) !== one.neededWith.value) return [name, undefined];
      faults.push(`${one.variable} is missing (${one.description})`);
      return [name, undefined];
    }
    try {
      return [name, one.parse(given)];
    } catch (fault) {
      faults.push(`${one.variable} must ${(fault as Error).message}`);
      return [name, undefined];
    }
  });
  const config = Object.fromEntries(values) as Config<S>;
  if (faults.length === 0) faults.push(...faultsOf(config));
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Returns the text of a variable, of its file, or the default; an Error when it cannot be read; undefined when there is none. */
function textOf(one: Setting<unknown>, environment: NodeJS.ProcessEnv): string | Error | undefined {
  const file = environment[`${one.variable}_FILE`];
  if (!file) return environment[one.variable] || one.defaultText;
  if (environment[one.variable]) return new Error(`${one.variable} and ${one.variable}_FILE are both set: remove one of them`);
  try {
    // Removes the line end that editors and `echo` append.
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '') || one.defaultText;
  } catch (error) {
    return new Error(`${one.variable}_FILE names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown reason'})`);
  }
}
