/**
 * A machine's distribution release, and the next one.
 * @typedef {{ from: string, to: string }} Suites
 */

/** Suite names that always mean the next release. @type {Record<string, string>} */
const NEXT = { debian: 'testing', ubuntu: 'devel' };

/** @param {string} osRelease the text of /etc/os-release @returns {Suites | undefined} */
export function newerSuiteOf(osRelease) {
  const valueOf = (/** @type {string} */ name) => new RegExp(`^${name}="?([^"\\n]*)"?$`, 'm').exec(osRelease)?.[1];
  const from = valueOf('VERSION_CODENAME');
  const to = NEXT[valueOf('ID') ?? ''];
  return from && to ? { from, to } : undefined;
}

/**
 * Rewrites the package sources of the machine's release to the newer one, with the same servers and keys. Omits updates and
 * third-party sources.
 * @param {string} file its extension gives the format: `.list` has a line for each source, `.sources` a paragraph
 * @param {string} text
 * @param {Suites} suites
 */
export function sourcesOfSuite(file, text, { from, to }) {
  if (file.endsWith('.list')) {
    const line = new RegExp(`^(deb\\s+(?:\\[[^\\]]*\\]\\s+)?\\S+\\s+)${from}(\\s.*)$`);
    return text.split('\n').flatMap((one) => (line.test(one) ? [`${one.replace(line, `$1${to}$2`)}\n`] : [])).join('');
  }
  return text
    .split(/\n{2,}/)
    .filter((paragraph) => wordsOf(paragraph, 'Types').includes('deb') && wordsOf(paragraph, 'Suites').includes(from))
    .map((paragraph) => `${paragraph.trim().replace(/^Suites:.*$/m, `Suites: ${to}`)}\n`)
    .join('\n');
}

/** @param {string} paragraph @param {string} field */
const wordsOf = (paragraph, field) => new RegExp(`^${field}:(.*)$`, 'm').exec(paragraph)?.[1]?.trim().split(/\s+/) ?? [];
