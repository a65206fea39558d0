import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CodedError } from '@plant-shop/platform/errors';
import { html } from '@plant-shop/platform/html/html';
import { requestIdOf } from '@plant-shop/platform/http/request';
import { Deadline } from '@plant-shop/platform/rpc/context';
import type { Provider } from 'oidc-provider';
import { Passkeys } from '../factors/passkeys.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { EmailVerification, verificationPath } from '../users/email-verification.service.js';
import { newPasswordPath, Recovery } from '../users/recovery.service.js';
import { askForRecoveryPage, deadLinkPage, newPasswordPage, passwordSetPage, recoverySentPage, verifiedPage, verifyPage } from './account-pages.js';
import { FormGuard, type PageContext } from './form-guard.js';
import { accountPath } from './oauth-client.js';
import { type HostedPages, type Page, recoveryPath, refuseForm, refuseLogIn, servePages, sendPage, setErrorStatus, textOfErrors } from './pages.js';

type Fields = ReadonlyMap<string, string>;

/** Time limit of a form, in milliseconds. */
const deadlineMs = 5_000;
const maxNameLength = 200;
const startAgain = 'Open the page again, and allow cookies.';

/** Where the console exchanges a passkey. */
const exchangePath = '/account/passkey';

/**
 * Serves the pages that mails lead to, the one that asks for a link, and the exchange of a passkey. None of them needs a login: their cookie
 * only ties a form to its browser.
 */
@Injectable()
export class AccountForms implements HostedPages {
  private readonly cookie: { readonly name: string; readonly secure: boolean };

  constructor(
    private readonly verification: EmailVerification,
    private readonly recovery: Recovery,
    private readonly guard: FormGuard,
    private readonly passkeys: Passkeys,
    @Inject(IDENTITY_OPTIONS) { publicUrl }: IdentityOptions,
  ) {
    const secure = publicUrl.startsWith('https:');
    this.cookie = { name: secure ? '__Host-plant_shop_form' : 'plant_shop_form', secure };
  }

  serveOn(provider: Provider): void {
    for (const [path, page] of this.pages) {
      servePages(provider, (asked) => asked === path, async (ctx) => {
        if (ctx.method === 'POST') await this.accept(ctx, page);
        else sendPage(ctx, await page.show(ctx, this.codeIn(ctx), this.proofFor(ctx)));
      }, { showsAgain: true });
    }
    servePages(provider, (asked) => asked === exchangePath, (ctx) => this.exchange(ctx));
  }

  /** By path: what a page shows, and what its form does. Each returns the page to send. */
  private readonly pages: ReadonlyMap<string, { show: (ctx: PageContext, code: string, proof: string) => Page | Promise<Page>; act: (ctx: PageContext, fields: Fields, proof: string) => Promise<Page> }> =
    new Map([
      [recoveryPath, { show: (_ctx, _code, proof) => askForRecoveryPage({ proof }), act: (ctx, fields, proof) => this.ask(ctx, fields, proof) }],
      [newPasswordPath, { show: (ctx, code, proof) => this.showNewPassword(ctx, code, proof), act: (ctx, fields, proof) => this.setPassword(ctx, fields, proof) }],
      [verificationPath, { show: (ctx, code, proof) => this.showVerification(ctx, code, proof), act: (ctx, fields, proof) => this.verify(ctx, fields, proof) }],
    ]);

  private async accept(ctx: PageContext, { act }: { readonly act: (ctx: PageContext, fields: Fields, proof: string) => Promise<Page> }): Promise<void> {
    const form = await this.read(ctx);
    if (form) sendPage(ctx, await act(ctx, form.fields, form.proof));
    else refuseForm(ctx, startAgain);
  }

  private async read(ctx: PageContext): Promise<{ readonly fields: Fields; readonly proof: string } | undefined> {
    const nonce = ctx.cookies.get(this.cookie.name, { signed: false });
    const text = nonce === undefined ? undefined : proofText(ctx, nonce);
    const fields = text === undefined ? undefined : await this.guard.read(ctx, text);
    return text === undefined || !fields ? undefined : { fields, proof: this.guard.proofOf(text) };
  }

  /** For a program in the browser: gives it what the browser needs to use a passkey, and for its answer the code of `Passkeys.exchange`. */
  private async exchange(ctx: PageContext): Promise<void> {
    ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
    if (ctx.method !== 'POST') {
      const proof = this.proofFor(ctx);
      ctx.body = { proof, options: await this.passkeys.anyOptions(proof) };
      return;
    }
    const form = await this.read(ctx);
    const code = form && (await this.passkeys.exchange(form.proof, form.fields.get('credential') ?? '', requestIdOf(ctx.req)));
    if (!form) refuseForm(ctx, startAgain);
    else if (code === undefined) refuseLogIn(ctx);
    else ctx.body = { code };
  }

  /** Returns the proof for this browser, whose cookie it sets if there is none. */
  private proofFor(ctx: PageContext): string {
    const { name, secure } = this.cookie;
    let nonce = ctx.cookies.get(name, { signed: false });
    if (nonce === undefined) {
      nonce = randomBytes(32).toString('base64url');
      ctx.cookies.set(name, nonce, { httpOnly: true, sameSite: 'lax', secure, signed: false, overwrite: true, path: '/' });
    }
    return this.guard.proofOf(proofText(ctx, nonce));
  }

  private codeIn(ctx: PageContext): string {
    const { code } = ctx.query;
    return typeof code === 'string' ? code : '';
  }

  private async ask(ctx: PageContext, fields: Fields, proof: string): Promise<Page> {
    const account = (fields.get('account') ?? '').trim();
    if (account === '' || account.length > maxNameLength) {
      ctx.status = 400;
      return askForRecoveryPage({ proof, error: 'Type your username or your e-mail address.' });
    }
    try {
      await this.recovery.request({ username: account, email: account }, ctx.ip);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      setErrorStatus(ctx, error);
      return askForRecoveryPage({ proof, error: error.message });
    }
    return recoverySentPage;
  }

  private async showNewPassword(ctx: PageContext, code: string, proof: string): Promise<Page> {
    return (await this.newPasswordPage(code, proof)) ?? deadRecovery(ctx);
  }

  /** @returns undefined if the link does not work */
  private async newPasswordPage(code: string, proof: string, error?: string): Promise<Page | undefined> {
    const found = await this.recovery.find(code);
    if (!found) return undefined;
    const { username, hasFactor, userId } = found;
    const options = hasFactor ? await this.passkeys.requestOptions(proof, userId) : undefined;
    return newPasswordPage({ username, hasFactor, options, code, proof, action: newPasswordPath, ...(error !== undefined && { error }) });
  }

  private async setPassword(ctx: PageContext, fields: Fields, proof: string): Promise<Page> {
    const [code = '', password = ''] = [fields.get('code'), fields.get('password')];
    const context = { requestId: requestIdOf(ctx.req), deadline: Deadline.in(deadlineMs), address: ctx.ip };
    try {
      const [factorCode = '', passkey = ''] = [fields.get('factor'), fields.get('credential')];
      const set = await this.recovery.setPassword(context, { code, password, endApiKeys: fields.get('action') === 'set-and-end-keys', factorCode, passkey, place: proof });
      return set ? passwordSetPage(set.username) : deadRecovery(ctx);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      const page = await this.newPasswordPage(code, proof, textOfErrors(error));
      if (!page) return deadRecovery(ctx);
      setErrorStatus(ctx, error);
      return page;
    }
  }

  private async showVerification(ctx: PageContext, code: string, proof: string): Promise<Page> {
    const found = await this.verification.find(code);
    return found ? verifyPage({ ...found, code, proof, action: verificationPath }) : deadVerification(ctx);
  }

  private async verify(ctx: PageContext, fields: Fields, proof: string): Promise<Page> {
    const verified = await this.verification.verify(requestIdOf(ctx.req), fields.get('code') ?? '', proof);
    return verified ? verifiedPage(verified.email) : deadVerification(ctx);
  }
}

/** Returns the text whose fingerprint is the proof: of one page and one browser. */
const proofText = (ctx: PageContext, nonce: string): string => `account form ${ctx.path} ${nonce}`;

function deadRecovery(ctx: PageContext): Page {
  ctx.status = 400;
  return deadLinkPage(html`<a href="${recoveryPath}">Ask for another link</a>`);
}

function deadVerification(ctx: PageContext): Page {
  ctx.status = 400;
  return deadLinkPage(html`If your address is not verified yet, ask for another mail in <a href="${accountPath}">your account</a>.`);
}
