import type { FieldError } from '@plant-shop/platform/errors';

/** Longer names are not quoted in full. */
export const maxNameLength = 100;

/** Returns the error for a member, field or part that does not exist. @param pointer of the object that has it */
export function undeclared(pointer: string, name: string, declared: readonly string[]): FieldError {
  if (name.length > maxNameLength) return { pointer, detail: `has a member that does not exist, with a name of ${name.length} characters` };
  return { pointer: `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, detail: `is not a member${suggestion(name, declared)}` };
}

/** Returns the end of a sentence about a name that is not declared: the name that was probably meant, or all of them. */
export function suggestion(name: string, declared: readonly string[]): string {
  const [nearest] = declared.map((one) => ({ one, unlike: distanceOf(plain(name), plain(one)) / Math.max(name.length, one.length) })).sort((a, b) => a.unlike - b.unlike);
  if (nearest && nearest.unlike <= 0.5) return `; did you mean \`${nearest.one}\`?`;
  return declared.length === 0 ? '' : `; there are ${declared.map((one) => `\`${one}\``).join(', ')}`;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Levenshtein's distance; for an abbreviation (`qty`, `quantity`) 1. */
function distanceOf(name: string, declared: string): number {
  if (isAbbreviation(name, declared)) return name === declared ? 0 : 1;
  let previous = Array.from({ length: declared.length + 1 }, (_, n) => n);
  for (let i = 1; i <= name.length; i++) {
    const current = [i];
    for (let j = 1; j <= declared.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + Number(name[i - 1] !== declared[j - 1]);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[declared.length] ?? 0;
}

/** Whether a name has letters of another in the same order, beginning with the first. */
function isAbbreviation(name: string, long: string): boolean {
  if (name.length < 2 || !long.startsWith(name.slice(0, 1))) return false;
  let at = 0;
  for (const letter of long) if (letter === name[at]) at++;
  return at === name.length;
}
