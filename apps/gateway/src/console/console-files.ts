import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative, sep } from 'node:path';
import type { Readable } from 'node:stream';

const require = createRequire(import.meta.url);

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** The build writes these beside a file, so that no request waits for a compressor. */
const encodings = { br: '.br', gzip: '.gz' } as const;
type Encoding = keyof typeof encodings;

export interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  /** Its name changes with its content. */
  readonly isHashed: boolean;
  /** By which it is there compressed. */
  readonly encodings: readonly Encoding[];
  open(encoding?: Encoding): Readable;
}

/** Where the console's build is; the package has no code that the gateway imports. */
export const builtConsole = (): string => join(dirname(require.resolve('@plant-shop/console/package.json')), 'dist', 'site');

/**
 * The files of a build by their paths. Read once: a build never changes under a running gateway.
 * @returns none where the console was not built
 */
export function readConsoleFiles(folder: string): ReadonlyMap<string, ConsoleFile> {
  if (!existsSync(folder)) return new Map();
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const there = new Set(paths);
  return new Map(
    paths.flatMap((path) => {
      const type = types[extname(path)];
      return type === undefined ? [] : [[relative(folder, path).replaceAll(sep, '/'), fileAt(path, type, there)] as const];
    }),
  );
}

function fileAt(path: string, type: string, there: ReadonlySet<string>): ConsoleFile {
  return {
    type,
    etag: `"${createHash('sha256').update(readFileSync(path)).digest('base64url').slice(0, 27)}"`,
    isHashed: path.includes(`${sep}assets${sep}`),
    encodings: (['br', 'gzip'] as const).filter((one) => there.has(path + encodings[one])),
    open: (encoding) => createReadStream(encoding === undefined ? path : path + encodings[encoding]),
  };
}
