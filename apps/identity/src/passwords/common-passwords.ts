/** Passwords that attackers try first. */
export interface CommonPasswords {
  has(password: string): boolean;
}

export const COMMON_PASSWORDS = Symbol('common passwords');

/** An empty list, for shops that allow every password, such as the demo. */
export const noPasswords: CommonPasswords = { has: () => false };

/**
 * Loads the 49,000 most used leaked passwords (the list of zxcvbn); they match in any case. Takes 40 ms, so the list is
 * imported only when needed.
 * @param minLength shorter passwords are skipped: their length already refuses them
 */
export async function commonPasswords(minLength: number): Promise<CommonPasswords> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const words = dictionary['passwords-common'];
  const known = new Set(words.filter((one) => one.length >= minLength).map((one) => one.toLowerCase()));
  if (known.size === 0) throw new Error('the list of common passwords is empty');
  return { has: (password) => known.has(password.toLowerCase()) };
}
