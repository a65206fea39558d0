/** The language of the pages, for their times and numbers too: a German month within English text would be neither. */
export const locale = 'en-GB';

/** A name within a sentence or a title: one from right to left, or with signs that turn the order of letters, leaves what stands beside it. */
export const isolated = (name: string): string =>
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]/.test(name) ? `\u2068${name.replaceAll(/[\u2066-\u2069]/g, '')}\u2069` : name;

/** Pasted text ends with signs that nobody sees, which would be stored: zero-width spaces, soft hyphens and signs of direction. */
export const trimmed = (text: string): string => text.replace(/^[\s\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060]+|[\s\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060]+$/g, '');

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

/** 12,345. */
export const formatNumber = (value: number): string => whole.format(value);

const byteUnits = ['B', 'KiB', 'MiB', 'GiB'];

export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), byteUnits.length - 1);
  return `${short.format(bytes / 1024 ** power)} ${byteUnits[power] ?? ''}`;
}

/** 850 ms, 3.4 s, 12 min, 2.5 h, 3.1 d. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${whole.format(ms)} ms`;
  const steps: readonly (readonly [number, string])[] = [[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], [1_000, 's']];
  const [size, unit] = steps.find(([one]) => ms >= one) ?? [1_000, 's'];
  return `${short.format(ms / size)} ${unit}`;
}

/** "1 order", "2 orders". */
export const counted = (count: number, one: string, many = `${one}s`): string => `${whole.format(count)} ${count === 1 ? one : many}`;
