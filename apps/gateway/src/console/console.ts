import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { contentCodingFor } from '@plant-shop/contracts/request-checks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayOptions } from '../config.js';
import { isNotModified } from '../http/headers.js';
import { undocumentedRoute } from '../http/route.js';
import { routeNotFound } from '../http/problem.js';

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

interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  /** The file name contains a hash of the content. */
  readonly isHashed: boolean;
  /** The encodings that the build has written. */
  readonly encodings: readonly Encoding[];
  open(encoding?: Encoding): Readable;
}

/** Returns the folder of the console's build. The gateway imports no code of that package. */
const consoleBuildFolder = (): string => join(dirname(require.resolve('@plant-shop/console/package.json')), 'dist', 'site');

/**
 * Returns the files of a build by path, or none if the console was not built. Read once: a build does not change while the
 * gateway runs.
 */
function readConsoleFiles(folder: string): ReadonlyMap<string, ConsoleFile> {
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

/** For files with a content hash in their name. */
const immutable = 'public, max-age=31536000, immutable';

/**
 * Serves the admin console: static files of `apps/console` under `/console`. These are plain routes rather than Nest
 * controllers: a wildcard below a prefix is one node of Fastify's router, which API requests never reach.
 *
 * @returns whether the console was built
 */
export function serveConsole(instance: FastifyInstance, options: GatewayOptions, folder = consoleBuildFolder()): boolean {
  const files = readConsoleFiles(folder);
  const policy = consolePolicy(options);
  const settings = JSON.stringify({ publicUrl: options.publicUrl, oauthClient: options.consoleOAuthClient, streamUrl: options.streamPublicUrl });

  instance.get('/console/settings.json', { config: { spec: undocumentedRoute('getConsoleSettings') } }, (_request, reply) => {
    void reply.headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' }).send(settings);
  });
  const page = (request: FastifyRequest, reply: FastifyReply): void => {
    sendFile(request, reply, files.get('index.html'), policy);
  };
  instance.get('/console', { config: { spec: undocumentedRoute('showConsole') } }, page);
  instance.get('/console/*', { config: { spec: undocumentedRoute('getConsoleFile') } }, (request, reply) => {
    const path = (request.params as { '*': string })['*'];
    // A path that is no file is a route within the page. A missing hashed file answers 404, so that the page asks for a reload.
    if (path.startsWith('assets/')) sendFile(request, reply, files.get(path), policy);
    else if (files.has(path)) sendFile(request, reply, files.get(path), policy);
    else page(request, reply);
  });
  return files.has('index.html');
}

/** `unsafe-inline`: the page's components set style attributes and add style elements. The stream may have its own origin. */
export function consolePolicy({ publicUrl, streamPublicUrl }: Pick<GatewayOptions, 'publicUrl' | 'streamPublicUrl'>): string {
  const stream = streamPublicUrl === '' ? '' : ` ${new URL(streamPublicUrl.replace(/^ws/, 'http')).origin}`;
  return (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; " +
    `connect-src 'self' ${new URL(publicUrl).origin}${stream}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  );
}

/** @throws HttpError `route-not-found` */
function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile | undefined, policy: string): void {
  if (!file) throw routeNotFound();
  const { type, etag, isHashed } = file;
  reply.headers({
    // Weak: the bytes depend on the encoding.
    etag: `W/${etag}`,
    'cache-control': isHashed ? immutable : 'no-cache',
    'content-security-policy': policy,
    'x-frame-options': 'DENY',
    vary: [reply.getHeader('vary'), 'accept-encoding'].filter(Boolean).join(', '),
  });
  if (isNotModified(request.headers['if-none-match'], etag)) {
    void reply.code(304).send();
    return;
  }
  const encoding = contentCodingFor(request.headers, file.encodings);
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  void reply.header('content-type', type).send(file.open(encoding === 'identity' ? undefined : encoding));
}
