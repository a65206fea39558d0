// The first that fits: browsers name others in their User-Agent, too.
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg/, 'Edge'],
  [/\b(OPR|Opera)\b/, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(Headless)?Chrom(e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'an iPhone'],
  [/\biPad\b/, 'an iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'a Mac'],
  [/\bCrOS\b/, 'a Chromebook'],
  [/\bLinux\b/, 'Linux'],
];

const firstOf = (table: typeof browsers, text: string): string | undefined => table.find(([pattern]) => pattern.test(text))?.[1];

/** `Firefox on Windows`; for a program its own words: `curl 8.5.0`. */
export function deviceOf(userAgent: string | undefined): string {
  if (userAgent === undefined) return 'an unknown program';
  const [browser, system] = [firstOf(browsers, userAgent), firstOf(systems, userAgent)];
  if (browser === undefined) return userAgent.replace('/', ' ');
  return system === undefined ? browser : `${browser} on ${system}`;
}
