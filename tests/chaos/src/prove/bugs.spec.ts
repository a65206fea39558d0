import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import type { Bug } from './bug.js';
import { bugs } from './bugs.js';

const root = join(import.meta.dirname, '../../../..');

describe.each(bugs.map((bug) => [bug.name, bug] as const))('%s', (_name, { edits }) => {
  it.each(edits.map(({ file, find }) => [file, find] as const))('finds its text exactly once in the built %s', (file, find) => {
    expect(built(file).split(find).length - 1).toBe(1);
  });
});

it('changed files use only names that they know (slow)', () => {
  expect(messagesAboutUnknownNames(bugs)).toEqual([]);
});

it('bug ids are unique, and there are at least 20 bugs', () => {
  expect(new Set(bugs.map(({ id }) => id)).size).toBe(bugs.length);
  expect(bugs.length).toBeGreaterThanOrEqual(20);
});

const built = (file: string): string => readFileSync(join(root, file), 'utf8');

/** What the compiler says about names that a changed file neither declares nor imports, after the bug's id. */
function messagesAboutUnknownNames(bugs: readonly Bug[]): string[] {
  const texts = new Map(bugs.flatMap(({ id, edits }) => changedTexts(edits).map(([file, text]) => [join(root, id, file), text] as const)));
  const options: ts.CompilerOptions = { allowJs: true, checkJs: true, noResolve: true, types: ['node'], target: ts.ScriptTarget.ESNext };
  const host = ts.createCompilerHost(options);
  const readSourceFile = host.getSourceFile.bind(host);
  host.getSourceFile = (path, version) => {
    const text = texts.get(path);
    return text === undefined ? readSourceFile(path, version) : ts.createSourceFile(path, text, version);
  };
  const program = ts.createProgram([...texts.keys()], options, host);
  return [...texts.keys()]
    .flatMap((path) => program.getSemanticDiagnostics(program.getSourceFile(path)))
    .filter(({ code }) => unknownName.includes(code))
    .map(({ file, messageText }) => `${file?.fileName.slice(root.length)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
}

/** The compiler's codes for "Cannot find name" without and with a suggestion. */
const unknownName: readonly number[] = [2304, 2552];

function changedTexts(edits: Bug['edits']): readonly (readonly [file: string, text: string])[] {
  const texts = new Map<string, string>();
  for (const { file, find, replace } of edits) texts.set(file, (texts.get(file) ?? built(file)).replace(find, () => replace));
  return [...texts];
}
