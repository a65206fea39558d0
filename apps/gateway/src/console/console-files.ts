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

/** The console's build writes these next to each file, so that nothing is compressed while a request waits. */
const encodings = { br: '.br', gzip: '.gz' } as const;
type Encoding = keyof typeof encodings;

export interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  /** The file name contains a hash of the content. */
  readonly isHashed: boolean;
  /** The encodings that the build has written. */
  readonly encodings: readonly Encoding[];
  open(encoding?: Encoding): Readable;
}

/** Returns the folder of the console's build. The gateway imports no code of that package. */
export const consoleBuildFolder = (): string => join(dirname(require.resolve('@plant-shop/console/package.json')), 'dist', 'site');

/**
 * Returns the files of a build by path, or none if the console was not built. Read once: a build does not change while the
 * gateway runs.
 */
export function readConsoleFiles(folder: string): ReadonlyMap<string, ConsoleFile> {
  if (!existsSync(folder)) return new Map();
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const existing = new Set(paths);
  return new Map(
    paths.flatMap((path) => {
      const type = types[extname(path)];
      return type === undefined ? [] : [[relative(folder, path).replaceAll(sep, '/'), fileAt(path, type, existing)] as const];
    }),
  );
}

function fileAt(path: string, type: string, existing: ReadonlySet<string>): ConsoleFile {
  return {
    type,
    etag: `"${createHash('sha256').update(readFileSync(path)).digest('base64url').slice(0, 27)}"`,
    isHashed: path.includes(`${sep}assets${sep}`),
    encodings: (['br', 'gzip'] as const).filter((one) => existing.has(path + encodings[one])),
    open: (encoding) => createReadStream(encoding === undefined ? path : path + encodings[encoding]),
  };
}
