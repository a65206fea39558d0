import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isKnown } from '../http/conditions.js';
import { ruleFor } from '../http/rule.js';
import type { GatewayOptions } from '../options.js';
import { routeNotFound } from '../problems/problem.js';
import { builtConsole, type ConsoleFile, readConsoleFiles } from './console-files.js';

/** Hashed names never get another content. */
const forGood = 'public, max-age=31536000, immutable';

/**
 * The admin console: static files of `apps/console` under `/console`. Plain routes, outside Nest's controllers: a wildcard
 * below a prefix is one node of Fastify's router, and API requests never get to it.
 *
 * @returns whether the console was built
 */
export function serveConsole(instance: FastifyInstance, options: GatewayOptions, folder = builtConsole()): boolean {
  const files = readConsoleFiles(folder);
  const policy = policyOf(options);
  const settings = JSON.stringify({ publicUrl: options.publicUrl, oauthClient: options.consoleOAuthClient, streamUrl: options.streamPublicUrl });

  instance.get('/console/settings.json', { config: { rule: ruleFor('getConsoleSettings') } }, (_request, reply) => {
    void reply.headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' }).send(settings);
  });
  const page = (request: FastifyRequest, reply: FastifyReply): void => {
    sendFile(request, reply, files.get('index.html'), policy);
  };
  instance.get('/console', { config: { rule: ruleFor('showConsole') } }, page);
  instance.get('/console/*', { config: { rule: ruleFor('getConsoleFile') } }, (request, reply) => {
    const path = (request.params as { '*': string })['*'];
    // Whatever is no file is an address within the page. A hashed file that is gone is neither: the page then says to load it again.
    if (path.startsWith('assets/')) sendFile(request, reply, files.get(path), policy);
    else if (files.has(path)) sendFile(request, reply, files.get(path), policy);
    else page(request, reply);
  });
  return files.has('index.html');
}

/** The page's components set styles on elements and add style elements. The stream may be at another origin than the API. */
function policyOf({ publicUrl, streamPublicUrl }: GatewayOptions): string {
  const stream = streamPublicUrl === '' ? '' : ` ${new URL(streamPublicUrl.replace(/^ws/, 'http')).origin}`;
  return (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; " +
    `connect-src 'self' ${new URL(publicUrl).origin}${stream}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  );
}

/** @throws Refusal `route-not-found` */
function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile | undefined, policy: string): void {
  if (!file) throw routeNotFound();
  const { type, etag, isHashed } = file;
  reply.headers({
    // Weak: the bytes differ by how they are compressed.
    etag: `W/${etag}`,
    'cache-control': isHashed ? forGood : 'no-cache',
    'content-security-policy': policy,
    'x-frame-options': 'DENY',
    vary: 'accept-encoding',
  });
  if (isKnown(request.headers['if-none-match'], etag)) {
    void reply.code(304).send();
    return;
  }
  const encoding = file.encodings.find((one) => accepts(request.headers['accept-encoding'], one));
  if (encoding !== undefined) reply.header('content-encoding', encoding);
  void reply.header('content-type', type).send(file.open(encoding));
}

/** RFC 9110, 12.5.3, without preferences: all that browsers send are ones. */
const accepts = (header: string | string[] | undefined, encoding: string): boolean =>
  String(header ?? '').split(',').some((one) => {
    const [name, weight] = one.split(';').map((part) => part.trim());
    return name?.toLowerCase() === encoding && !/^q=0(\.0*)?$/.test(weight ?? '');
  });
