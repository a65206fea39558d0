import type { CodedError } from '../errors.js';

type Fault = (name: string, must: string) => CodedError;

/** More than any list of ours takes. 100,000 would take 0.4 s to parse. */
const maxParameters = 1_000;

/** As it was sent, and decoded. */
interface Value {
  readonly raw: string;
  readonly text: string;
}

const none: ReadonlyMap<string, readonly Value[]> = new Map();

/**
 * The parameters of a query string or URL-encoded form. Parsed strictly: broken percent-encoding and repeated single-valued
 * parameters are errors, where a lenient parser would repair or choose.
 */
export class UrlEncoded {
  private constructor(
    private readonly values: ReadonlyMap<string, readonly Value[]>,
    /** Why the text as a whole is invalid; completes "The query …". */
    readonly fault: string | undefined,
  ) {}

  static readonly empty = new UrlEncoded(none, undefined);

  /** Never throws; the caller decides when to report `fault`. */
  static parse(text: string): UrlEncoded {
    const values = new Map<string, Value[]>();
    const pairs = text.split('&', maxParameters + 1);
    if (pairs.length > maxParameters) return new UrlEncoded(none, `must have at most ${maxParameters} parameters`);
    for (const pair of pairs) {
      if (pair === '') continue;
      const at = pair.indexOf('=');
      const name = decode(at === -1 ? pair : pair.slice(0, at));
      const raw = at === -1 ? '' : pair.slice(at + 1);
      const text = decode(raw);
      if (name === undefined || text === undefined) return new UrlEncoded(none, 'must be valid percent-encoded UTF-8');
      if (name.includes('\0') || text.includes('\0')) return new UrlEncoded(none, 'must not contain NUL characters');
      const previous = values.get(name);
      if (previous) previous.push({ raw, text });
      else values.set(name, [{ raw, text }]);
    }
    return new UrlEncoded(values, undefined);
  }

  get names(): Iterable<string> {
    return this.values.keys();
  }

  /** Returns a single-valued parameter; throws `fault` if it is repeated. */
  one(name: string, fault: Fault): string | undefined {
    const values = this.values.get(name);
    if (values && values.length > 1) throw fault(name, 'must be given once');
    return values?.[0]?.text;
  }

  /** Returns a parameter that is a whole number; throws `fault` if it is anything else, or out of bounds. */
  integer(name: string, { min, max }: { readonly min: number; readonly max: number }, fault: Fault): number | undefined {
    const text = this.one(name, fault);
    if (text === undefined) return undefined;
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw fault(name, mustBeBetween(min, max));
    return value;
  }

  /** Returns a parameter that is `true` or `false`; throws `fault` if it is anything else. */
  flag(name: string, fault: Fault): boolean | undefined {
    const text = this.one(name, fault);
    if (text !== undefined && text !== 'true' && text !== 'false') throw fault(name, 'must be true or false');
    return text && text === 'true';
  }

  /** Returns the parameters `<name>[<key>]` by key; undefined: there are none. Throws `fault` if one is repeated. */
  pairs(name: string, fault: Fault): Readonly<Record<string, string>> | undefined {
    const pairs: [string, string][] = [];
    for (const one of this.names) {
      const key = keyIn(name, one);
      if (key !== undefined) pairs.push([key, this.one(one, fault) ?? '']);
    }
    return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
  }

  /** Returns a parameter that is an id; throws `fault` if it is anything else. */
  id(name: string, fault: Fault): number | undefined {
    const text = this.one(name, fault);
    return text === undefined ? undefined : readId(name, text, fault);
  }

  /**
   * Returns the values of a parameter that is comma-separated, repeated, or both; trimmed, without duplicates.
   * @param ofTexts a value may contain a comma, sent as `%2C`. Otherwise `%2C` separates too: many clients encode separators
   */
  list(name: string, { ofTexts = false } = {}): readonly string[] | undefined {
    const values = this.values.get(name);
    const split = ({ raw, text }: Value): string[] => (ofTexts ? raw.split(',').map((part) => decode(part) ?? '') : text.split(','));
    return values && [...new Set(values.flatMap(split).map((one) => one.trim()))];
  }
}

/** Returns the key of a parameter `<name>[<key>]`; undefined: it is another one. */
export const keyIn = (name: string, parameter: string): string | undefined =>
  parameter.startsWith(`${name}[`) && parameter.endsWith(']') ? parameter.slice(name.length + 1, -1) : undefined;

/** Returns the id that a text is: decimal digits only, so neither `1e3` nor `+1` nor `01`. Throws `fault` if it is none. */
export function readId(name: string, text: string, fault: Fault): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw fault(name, mustBeBetween(1, Number.MAX_SAFE_INTEGER));
  return id;
}

const mustBeBetween = (min: number, max: number): string => `must be a whole number from ${min} to ${max}`;

function decode(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}
