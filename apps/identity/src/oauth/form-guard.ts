import { timingSafeEqual } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import { CodedError } from '@plant-shop/platform/errors';
import type { Provider } from 'oidc-provider';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';

const maxFormBytes = 8 * 1024;

/** Koa's request context in middleware that runs before the provider. */
export type PageContext = Parameters<Parameters<Provider['use']>[0]>[0];

/** Reads the whole body as text. @returns undefined when it is longer than `maxBytes` */
export async function readForm(request: Readable, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxBytes) chunks.push(chunk);
  }
  return length > maxBytes ? undefined : Buffer.concat(chunks).toString('utf8');
}

/**
 * Parses the fields of a form.
 * @returns undefined when a field is repeated or contains NUL: no page sends that, and Postgres text cannot hold NUL
 */
function fieldsOf(form: string): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(form)) {
    if (fields.has(name) || value.includes('\0')) return undefined;
    fields.set(name, value);
  }
  return fields;
}

/**
 * Accepts forms only from the shop's own pages: by the browser's origin headers, and by a proof that the page contains. The proof is for
 * a text that only this browser's cookie names, so it cannot be taken from a page of another browser.
 */
@Injectable()
export class FormGuard {
  constructor(
    private readonly cipher: Cipher,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  /** Returns the proof that identity rendered a form. It cannot be forged. */
  proofOf(text: string): string {
    return this.cipher.fingerprint(text).toString('base64url');
  }

  /** Returns the fields of a form; undefined if it is not from a page with the proof for this text. @throws CodedError `invalid-input` if it is too long */
  async read(ctx: PageContext, text: string): Promise<ReadonlyMap<string, string> | undefined> {
    if (!this.isSameOrigin(ctx)) return undefined;
    const form = await readForm(ctx.req, maxFormBytes);
    if (form === undefined) throw new CodedError('invalid-input', 'What you entered is too long. Go back and shorten it.');
    const fields = fieldsOf(form);
    return fields && this.isValidProof(text, fields.get('proof')) ? fields : undefined;
  }

  /** Checks the browser's origin headers. The cookie, which other sites do not send, and the proof are stronger checks. */
  isSameOrigin(ctx: PageContext): boolean {
    const { origin, 'sec-fetch-site': site } = ctx.headers;
    return (origin === undefined || origin === this.options.publicUrl) && (site === undefined || site === 'same-origin');
  }

  private isValidProof(text: string, proof = ''): boolean {
    const given = Buffer.from(proof, 'base64url');
    return [this.cipher.fingerprint(text), ...this.cipher.formerFingerprints(text)].some(
      (expected) => expected.length === given.length && timingSafeEqual(expected, given),
    );
  }
}
