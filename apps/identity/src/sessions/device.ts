/** By what users know a browser: the first that the header names. Several name others, too, so the order matters. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdgi?A?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

const nameIn = (names: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined => names.find(([pattern]) => pattern.test(userAgent))?.[1];

/** Returns what a User-Agent header says about a device, such as "Firefox on Linux". A program that is no browser is called by its own name. */
export function deviceOf(userAgent: string | null): string {
  if (userAgent === null || userAgent.trim() === '') return 'An unknown program';
  const [browser, system] = [nameIn(browsers, userAgent), nameIn(systems, userAgent)];
  if (browser === undefined) return /^[\w.-]+(?=\/)/.exec(userAgent)?.[0] ?? userAgent;
  return system === undefined ? browser : `${browser} on ${system}`;
}
