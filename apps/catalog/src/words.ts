// What counts as the same word, for plants and for queries. The database only compares the results, so its locale is irrelevant.

/** Maximum length of a word, in characters; longer ones are cut. */
const maxLength = 64;
/** Maximum length of a text in a script without spaces that a word begins with. */
const maxUnspacedLength = 16;
/** Each word of a plant is a row of `plant_words`: 64 long tags would otherwise cost thousands of rows. */
const maxWordsOfPlant = 256;

/** Letters that Unicode does not decompose, as the Postgres extension unaccent replaces them. */
const plainLetters: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    a: 'ⱥ', ae: 'æ', b: 'ƀɓƃ', c: 'ȼƈ', d: 'đðɖɗƌ', e: 'ɇɛǝə', f: 'ƒ', g: 'ǥɠ', h: 'ħⱨ', hv: 'ƕ', i: 'ıɨɩ', j: 'ɉȷ', k: 'ƙⱪĸ', l: 'łƚⱡɫ',
    m: 'ɱ', n: 'ŋɲƞŉ', o: 'øɵɔ', oe: 'œ', p: 'ƥᵽ', q: 'ɋʠ', r: 'ɍɽ', s: 'ʂȿſ', ss: 'ß', t: 'ŧƭʈⱦ', th: 'þ', u: 'ʉ', v: 'ʋⱱ', w: 'ⱳ', y: 'ɏƴ',
    z: 'ƶȥɀⱬ', σ: 'ς',
  }).flatMap(([plain, letters]) => Array.from(letters, (letter) => [letter, plain])),
);
const withoutPlain = new RegExp(`[${Object.keys(plainLetters).join('')}]`, 'gu');

/** Accents and vowel points. Marks of other scripts, such as Thai and Devanagari vowels, belong to their words. */
const accents = /[[\p{M}&&[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}]]--[\u3099\u309a]]/gv;
/** Characters that are not shown (soft hyphens, directional marks, joiners), and the Arabic stretching of letters. */
const ignored = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u0640]/gv;

/** Words in scripts without spaces, and all others. Modifier letters (U+02B0 to U+02FF) are used as apostrophes. */
const unspaced = '[[\\p{L}\\p{N}\\p{M}]&&[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmr}\\p{scx=Mymr}]]';
const words = new RegExp(`${unspaced}+|[[\\p{L}\\p{N}\\p{M}]--${unspaced}--[\\u02b0-\\u02ff]]+`, 'gv');
const isUnspaced = new RegExp(`^${unspaced}`, 'v');

/** Returns the words of a text without case, accents and forms of letters, in their order and each once. `×` is the word `x`. */
export const wordsOf = (text: string): string[] => [...new Set(allWordsOf(text))];

function allWordsOf(text: string): string[] {
  const folded = folding(text).match(words) ?? [];
  return folded.map((word) => cut(word, isUnspaced.test(word) ? maxUnspacedLength : maxLength));
}

function folding(text: string): string {
  // eslint-disable-next-line no-control-regex -- most names
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase().replace(possessive, '');
  return text
    .replace(/[×✕✖⨯]/g, ' x ')
    .replace(/[™℠]/g, ' ')
    .replace(ignored, '')
    .normalize('NFKD')
    .replace(accents, '')
    .toLowerCase()
    .replace(withoutPlain, (letter) => plainLetters[letter] ?? letter)
    .replace(possessive, '')
    .normalize('NFC');
}
/** `lady's` is found by `lady`, and by `ladys` as a completion. */
const possessive = /(?<=\p{L})['‘’‛`\u02b9-\u02bf]s(?![\p{L}\p{N}])/gu;

const cut = (word: string, length: number): string => (word.length <= length ? word : Array.from(word).slice(0, length).join(''));

/** Returns the distinct words of a query. Omits the sign of hybrids beside other words, because names are written with and without it. */
export function wordsOfQuery(query: string): string[] {
  const all = wordsOf(query);
  const others = all.filter((word) => word !== 'x');
  return others.length > 0 ? others : all;
}

interface NamedPlant {
  readonly name: string;
  readonly category: { readonly name?: string } | null;
  readonly tags: readonly { readonly name: string }[];
}

/** The words that a plant is found by, each once. */
export interface PlantWords {
  readonly nameWords: readonly string[];
  /** Words of tags and category that are not in the name. */
  readonly labelWords: readonly string[];
}

export function wordsOfPlant({ name, category, tags }: NamedPlant): PlantWords {
  const named = withParts(wordsOf(name));
  const labels = [category?.name ?? '', ...tags.map((tag) => tag.name)];
  const labelled = withParts([...new Set(labels.flatMap(wordsOf))]).filter((word) => !named.includes(word));
  return { nameWords: named.slice(0, maxWordsOfPlant), labelWords: labelled.slice(0, Math.max(0, maxWordsOfPlant - named.length)) };
}

/**
 * Adds the ends of words in scripts without spaces, since a query finds the beginnings of words: 葉植物 finds 観葉植物, which is also stored as
 * 葉植物, 植物 and 物.
 */
function withParts(found: readonly string[]): string[] {
  const parts = found.filter((word) => isUnspaced.test(word)).flatMap((word) => Array.from(word).map((_, n, all) => all.slice(n).join('')));
  return [...new Set([...found, ...parts.filter((part) => !/^\p{M}/u.test(part))])];
}
