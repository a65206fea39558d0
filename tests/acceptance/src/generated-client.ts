import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';

/** Imports a module of a generated client. */
export type Import = <Module>(name: string) => Promise<Module>;

/**
 * Makes a client from a document, by Hey API's generator, in an empty folder, and compiles it strictly.
 * @param program a module that uses the client, compiled with it
 */
export async function generateClient(folder: string, document: object, program = ''): Promise<Import> {
  const input = join(folder, 'openapi.json');
  const tsConfigPath = join(folder, 'tsconfig.json');
  writeFileSync(input, JSON.stringify(document));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const compilerOptions = { strict: true, noUncheckedIndexedAccess: true, noImplicitReturns: true, noImplicitOverride: true, noFallthroughCasesInSwitch: true, skipLibCheck: false, target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], types: [], module: 'nodenext', rootDir: 'client', outDir: 'dist' };
  writeFileSync(tsConfigPath, JSON.stringify({ compilerOptions, include: ['client'] }));
  await createClient({ input, output: { path: join(folder, 'client'), tsConfigPath }, logs: { level: 'silent' } });
  writeFileSync(join(folder, 'client/program.ts'), program);
  const tsc = fileURLToPath(new URL('../../../node_modules/typescript-7/bin/tsc', import.meta.url));
  // The compiler writes its errors to the standard output.
  await promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch((error: unknown) => {
    throw new Error(`The generated client does not compile:\n${(error as { readonly stdout: string }).stdout}`);
  });
  return (name) => import(pathToFileURL(join(folder, `dist/${name}.js`)).href) as Promise<never>;
}
