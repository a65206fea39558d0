/** Passwords that are tried first. */
export interface CommonPasswords {
  has(password: string): boolean;
}

export const COMMON_PASSWORDS = Symbol('common passwords');

/** Where everything is allowed, as in a demo. */
export const noPasswords: CommonPasswords = { has: () => false };

/**
 * 49,000 of the most used passwords that have leaked somewhere (the list of zxcvbn), in any case of letters. Read in 40 ms
 * and only where it is asked for.
 * @param minLength shorter ones are refused by their length already
 */
export async function commonPasswords(minLength: number): Promise<CommonPasswords> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const words = dictionary['passwords-common'];
  const known = new Set(words.filter((one) => one.length >= minLength).map((one) => one.toLowerCase()));
  if (known.size === 0) throw new Error('the list of common passwords is empty');
  return { has: (password) => known.has(password.toLowerCase()) };
}
