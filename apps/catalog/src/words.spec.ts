import { describe, expect, it } from '@jest/globals';
import { wordsOf, wordsOfPlant, wordsOfQuery } from './words.js';

/** Texts with the words that they have. */
const folded: readonly (readonly [text: string, ...words: string[]])[] = [
  ['Calathea ORBIFOLIA-cv. No.7', 'calathea', 'orbifolia', 'cv', 'no', '7'],
  ['Été frais Ångström Ñandú', 'ete', 'frais', 'angstrom', 'nandu'],
  ['Кактус ёж Йошкар', 'кактус', 'еж', 'иошкар'],
  ['łódź Øre ıSPARTA İzmir Straße STRASSE ẞ Æble cœur Đorđe þorn Ħal', 'lodz', 'ore', 'isparta', 'izmir', 'strasse', 'ss', 'aeble', 'coeur', 'dorde', 'thorn', 'hal'],
  ['ΟΔΟΣ οδός ὁδός', 'οδοσ'],
  ['ｆｕｌｌ－ｗｉｄｔｈ １２ ﬁcus ①', 'full', 'width', '12', 'ficus', '1'],
  ['مُحَمَّد محمد محـمد أحمد احمد', 'محمد', 'احمد'],
  ['שָׁלוֹם שלום', 'שלום'],
  ['🌵cactus🪴fern 🧑‍🌾gardener❤️ 1️⃣', 'cactus', 'fern', 'gardener', '1'],
  ['Aloe × nobilis Aloe×nobilis', 'aloe', 'x', 'nobilis'],
  ["lady's lady’s ladyʼs LADY＇S l'aloès l’aloe d'Ys", 'lady', 'l', 'aloes', 'aloe', 'd', 'ys'],
  ['Mon\u00adstera \u200bMon\u200dstera\u2060 \u202emonstera\ufeff', 'monstera'],
  ['self-heal self‑heal self–heal', 'self', 'heal'],
  ['が ガ ｶﾞ か', 'が', 'ガ', 'か'],
  ['Monsteraモンステラ・デリシオサ 日本語', 'monstera', 'モンステラ', 'デリシオサ', '日本語'],
  ['गुलाब गुलब', 'गुलाब', 'गुलब'],
  ['한국 장미', '한국', '장미'],
  ['Wave™ & ®ose', 'wave', 'ose'],
  ['', ...[]],
  ['?! 🌵 \u3164'],
];

describe('words', () => {
  it.each(folded)('of %j have no case, accents, marks or forms', (text, ...words) => {
    expect(wordsOf(text)).toEqual(words);
    // Folding a word again changes nothing, also in another case.
    expect(wordsOf(words.join(' ').toUpperCase())).toEqual(words);
  });

  it('of queries omit the sign of hybrids, unless there is nothing else', () => {
    expect(wordsOfQuery('Aloe × nobilis')).toEqual(['aloe', 'nobilis']);
    expect(wordsOfQuery('Aloe X nobilis')).toEqual(['aloe', 'nobilis']);
    expect(wordsOfQuery('×')).toEqual(['x']);
  });

  it('of plants are those of the name and further ones of tags and category', () => {
    const plant = { name: 'Big Fern', category: { id: 1, name: 'Ferns' }, tags: [{ id: 1, name: 'big shade' }, { id: 2, name: 'Shade' }] };
    expect(wordsOfPlant(plant)).toEqual({ nameWords: ['big', 'fern'], labelWords: ['ferns', 'shade'] });
    expect(wordsOfPlant({ ...plant, name: '?', category: null, tags: [] })).toEqual({ nameWords: [], labelWords: [] });
  });

  it('of plants in scripts without spaces begin at each character', () => {
    const none = { category: null, tags: [] };
    expect(wordsOfPlant({ name: '観葉植物 A', ...none }).nameWords).toEqual(['観葉植物', 'a', '葉植物', '植物', '物']);
    // Not at vowels, which belong to the consonant before.
    expect(wordsOfPlant({ name: 'มิลี', ...none }).nameWords).toEqual(['มิลี', 'ลี']);
    expect(wordsOfPlant({ name: '𠮷野', ...none }).nameWords).toEqual(['𠮷野', '野']);
  });

  it('are limited in length and number', () => {
    expect(wordsOf('x'.repeat(200))).toEqual(['x'.repeat(64)]);
    expect(wordsOf('𐐨'.repeat(100))).toEqual(['𐐨'.repeat(64)]);
    const tags = Array.from({ length: 64 }, (_, id) => ({ id, name: Array.from({ length: 20 }, (_word, n) => `w${id}n${n}`).join(' ') }));
    const { nameWords, labelWords } = wordsOfPlant({ name: '字'.repeat(3) + Array.from({ length: 40 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join(''), category: null, tags });
    expect(nameWords.length + labelWords.length).toBe(256);
    expect(Math.max(...nameWords.map((word) => word.length))).toBe(16);
  });
});
