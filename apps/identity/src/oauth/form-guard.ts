import { timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Cipher } from '@plant-shop/platform/cipher';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { fieldsOf, type PageContext, readForm } from './form.js';

const maxFormBytes = 8 * 1024;

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

  /** Returns the fields of a form; undefined if it is not from a page with the proof for this text. */
  async read(ctx: PageContext, text: string): Promise<ReadonlyMap<string, string> | undefined> {
    const form = this.isSameOrigin(ctx) ? await readForm(ctx.req, maxFormBytes) : undefined;
    const fields = form === undefined ? undefined : fieldsOf(form);
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
