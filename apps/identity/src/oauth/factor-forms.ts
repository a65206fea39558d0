import { Injectable } from '@nestjs/common';
import { CodedError } from '@plant-shop/platform/errors';
import { requestIdOf } from '@plant-shop/platform/http/request';
import { Database } from '@plant-shop/platform/postgres/database';
import { Deadline } from '@plant-shop/platform/rpc/context';
import { html } from '@plant-shop/platform/html/html';
import type { Provider } from 'oidc-provider';
import { countRecoveryCodes, type FactorRecord, listFactors } from '../factors/factors.repository.js';
import { Factors, maxFactors } from '../factors/factors.service.js';
import { Passkeys } from '../factors/passkeys.js';
import type { ProvenSession } from '../sessions.repository.js';
import { RecentLogin } from '../users/recent-login.js';
import { findUserById, lockUser } from '../users/users.repository.js';
import type { UserRecord } from '../users/user.js';
import { BrowserSessions } from './browser-sessions.js';
import { codesPage, confirmPage, ownFactorsPage, refusedFactor, wrongCode, wrongPasskey, wrongPassword } from './factor-pages.js';
import { FormGuard, type PageContext } from './form-guard.js';
import { type Fields, loginDeadlineMs } from './interaction.js';
import { accountPath, factorsPath } from './oauth-client.js';
import { type HostedPages, type Page, refuseForm, refuseLogIn, servePages, sendPage, setErrorStatus, textOfErrors } from './pages.js';

/** A request of a user who is logged in with this browser. */
interface OwnRequest {
  readonly ctx: PageContext;
  readonly user: UserRecord;
  readonly session: ProvenSession;
  readonly factors: readonly FactorRecord[];
  /** The page and the browser, for proofs and challenges. */
  readonly place: string;
}

/** Serves the page of a user's own second factors. Changes need a recent log-in; if the user has a factor, one that proved it. */
@Injectable()
export class FactorForms implements HostedPages {
  constructor(
    private readonly database: Database,
    private readonly browserSessions: BrowserSessions,
    private readonly factors: Factors,
    private readonly passkeys: Passkeys,
    private readonly recentLogin: RecentLogin,
    private readonly guard: FormGuard,
  ) {}

  serveOn(provider: Provider): void {
    servePages(provider, (asked) => asked === factorsPath, (ctx) => this.serve(provider, ctx), { showsAgain: true });
  }

  private async serve(provider: Provider, ctx: PageContext): Promise<void> {
    const { accountId, uid } = await provider.Session.get(ctx);
    const session = accountId === undefined ? undefined : await this.browserSessions.find(accountId, uid);
    const user = session && accountId !== undefined ? await findUserById(this.database, accountId) : undefined;
    if (!session || !user) {
      refuseLogIn(ctx);
      sendPage(ctx, logInFirst);
      return;
    }
    const request = { ctx, user, session, factors: await listFactors(this.database, user.userId), place: `factors form ${uid}` };
    if (ctx.method !== 'POST') {
      sendPage(ctx, await this.pageOf(request));
      return;
    }
    const fields = await this.guard.read(ctx, request.place);
    if (!fields) {
      refuseForm(ctx, 'Open the page again.');
      return;
    }
    try {
      await this.handle(request, fields);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      setErrorStatus(ctx, error);
      sendPage(ctx, await this.pageOf(request, textOfErrors(error)));
    }
  }

  private async handle(request: OwnRequest, fields: Fields): Promise<void> {
    const { ctx } = request;
    const action = fields.get('action') ?? '';
    if (confirmations.has(action)) return this.confirm(request, fields);
    if (!mayChange(request)) sendPage(ctx, await this.pageOf(request, showFirst));
    else if (action === 'remove') await this.remove(request, fields.get('factor') ?? '');
    else if (action === 'new-codes') this.sendCodes(ctx, await this.factors.newRecoveryCodes(request.user, actorOf(request)));
    else if (action === 'add-passkey' || action === 'add-app') await this.add(request, fields);
    else refuseForm(ctx, 'Open the page again.');
  }

  /** Checks again who the user is: by a second factor, or by the password of a user who has none. */
  private async confirm(request: OwnRequest, fields: Fields): Promise<void> {
    const { ctx, factors, session } = request;
    const hasFactor = factors.length > 0;
    if (await this.isProven(request, fields)) {
      await this.browserSessions.confirm(session.id, hasFactor);
      sendPage(ctx, await this.pageOf({ ...request, session: { ...session, isRecent: true, provedFactor: session.provedFactor || hasFactor } }));
      return;
    }
    refuseLogIn(ctx);
    const action = fields.get('action') ?? '';
    // Of a page from before the first factor was added, or the last one removed, nothing counts.
    const isAsked = hasFactor === (action !== 'password');
    sendPage(ctx, await this.pageOf(request, isAsked ? confirmations.get(action) : showFirst));
  }

  private isProven({ ctx, user, place }: OwnRequest, fields: Fields): Promise<boolean> {
    const [password = '', code = '', passkey = ''] = [fields.get('password'), fields.get('code'), fields.get('credential')];
    return this.recentLogin.isShown(user, { password, code, passkey, place, address: ctx.ip, requestId: requestIdOf(ctx.req), deadline: Deadline.in(loginDeadlineMs) });
  }

  private async add(request: OwnRequest, fields: Fields): Promise<void> {
    const { ctx, user, place, session, factors } = request;
    const { enrolled, secret } = await this.factors.addFrom(fields, { user, place, actor: actorOf(request), address: ctx.ip, isFirst: factors.length === 0 });
    if (!enrolled) {
      ctx.status = 400;
      sendPage(ctx, await this.pageOf(request, refusedFactor(fields.get('action')), { secret, appName: fields.get('name') ?? undefined }));
      return;
    }
    // The user has just shown to have it.
    await this.browserSessions.confirm(session.id, true);
    if (enrolled.codes) this.sendCodes(ctx, enrolled.codes);
    else await this.showAgain(request);
  }

  private sendCodes(ctx: PageContext, codes: readonly string[] | undefined): void {
    sendPage(ctx, codesPage(codes, back));
  }

  private async remove(request: OwnRequest, factorId: string): Promise<void> {
    const { ctx, user } = request;
    const removed = uuidForm.test(factorId) && (await this.database.transaction(async (tx) => {
      const locked = await lockUser(tx, user.userId);
      return locked && this.factors.remove(tx, locked, factorId, actorOf(request), ctx.ip);
    }));
    if (removed) this.factors.onChange?.('removed');
    await this.showAgain(request);
  }

  /** Shows what is true after a change. */
  private async showAgain(request: OwnRequest): Promise<void> {
    const factors = await listFactors(this.database, request.user.userId);
    sendPage(request.ctx, await this.pageOf({ ...request, factors, session: { ...request.session, provedFactor: true } }));
  }

  private async pageOf(request: OwnRequest, error?: string, { secret, appName }: { secret?: string | undefined; appName?: string | undefined } = {}): Promise<Page> {
    const { user, factors, place } = request;
    const { username, userId } = user;
    const view = { action: factorsPath, proof: this.guard.proofOf(place), username, factors, error };
    if (!mayChange(request)) return confirmPage({ ...view, hasFactor: factors.length > 0, options: await this.passkeys.requestOptions(place, userId) });
    const isFull = factors.length >= maxFactors;
    return ownFactorsPage({
      ...view,
      appName: secret === undefined ? undefined : appName,
      codesLeft: await countRecoveryCodes(this.database, userId),
      options: isFull ? undefined : await this.passkeys.creationOptions(place, user),
      app: isFull || factors.some(({ kind }) => kind === 'totp') ? undefined : this.factors.newTotp(place, userId, secret),
    });
  }
}

/** What the page says when one was refused, by the form's action. */
const confirmations: ReadonlyMap<string, string> = new Map([['password', wrongPassword], ['code', wrongCode], ['passkey', wrongPasskey]]);
const showFirst = 'Nothing was changed: show first that it is you.';
const uuidForm = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

const mayChange = ({ session, factors }: OwnRequest): boolean => session.isRecent && (session.provedFactor || factors.length === 0);

const actorOf = ({ ctx, user, session }: OwnRequest) => ({ requestId: requestIdOf(ctx.req), subject: user.userId, credentials: [{ kind: 'session', id: session.id }] });

const back = html`<p data-loads-as="${factorsPath}"><a href="${factorsPath}">Back to your second factors</a></p>`;

const logInFirst: Page = {
  title: 'Log in first',
  main: html`<h1>Log in first</h1>
<p>This page needs a log-in with this browser. <a href="${accountPath}">Log in to your account</a>, which leads here.</p>`,
};
