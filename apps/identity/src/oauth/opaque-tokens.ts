import { Readable } from 'node:stream';
import { toOpaque } from './access-token.js';
import { type PageContext, readForm } from './form.js';

/** The provider's own limit. */
const maxFormBytes = 56 * 1024;
const jwtForm = /^[\w-]+\.[\w-]+\.[\w-]*$/;
const paths: ReadonlySet<string> = new Set(['/oauth/revoke', '/oauth/introspect']);

/** Middleware that lets JWT access tokens be revoked and introspected, see `toOpaque`. */
export async function opaqueTokens(ctx: PageContext, next: () => Promise<unknown>): Promise<void> {
  if (ctx.method === 'POST' && paths.has(ctx.path) && ctx.is('application/x-www-form-urlencoded')) {
    const form = await readForm(ctx.req, maxFormBytes);
    if (form === undefined) {
      refuseForm(ctx);
      return;
    }
    const body = Buffer.from(rewritten(form));
    ctx.req.headers['content-length'] = String(body.length);
    delete ctx.req.headers['transfer-encoding'];
    // The provider reads the form from this stream, and everything else from the original request.
    ctx.req = Object.assign(Readable.from([body]), { headers: ctx.req.headers }) as typeof ctx.req;
  }
  await next();
}

function rewritten(form: string): string {
  const fields = new URLSearchParams(form);
  const tokens = fields.getAll('token');
  const [token = ''] = tokens;
  // The provider refuses a repeated token, so leave it unchanged.
  if (tokens.length !== 1 || !jwtForm.test(token)) return form;
  fields.set('token', toOpaque(token));
  return fields.toString();
}

function refuseForm(ctx: PageContext): void {
  ctx.status = 413;
  ctx.body = { error: 'invalid_request', error_description: 'the form is too long' };
}
