import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DomainError } from '@plant-shop/contracts/errors';
import { isEmailAddress } from '@plant-shop/contracts/fields';
import { identity, PatchUser } from '@plant-shop/contracts/identity';
import { CreateApiKey, type CreatedApiKey } from '@plant-shop/contracts/identity.api-keys';
import { permissions, permissionsOfRole } from '@plant-shop/contracts/permissions';
import { Cipher } from '@plant-shop/platform/cipher';
import { CodedError, invalidInput } from '@plant-shop/platform/errors';
import { requestIdOf } from '@plant-shop/platform/http/request';
import { actorOf, audit } from '@plant-shop/platform/patterns/audit-log';
import { Deadline, IdempotencyKey, type Principal, RpcContext } from '@plant-shop/platform/rpc/context';
import { Database } from '@plant-shop/platform/postgres/database';
import { unwrapResponse } from '@plant-shop/platform/rpc/answer';
import { validated } from '@plant-shop/platform/rpc/validation';
import type { Provider } from 'oidc-provider';
import { listLiveKeys } from '../api-keys.repository.js';
import { ApiKeysService } from '../api-keys/api-keys.service.js';
import { DatabaseClock } from '../database-clock.js';
import { findHasFactor } from '../factors/factors.repository.js';
import { Passkeys } from '../factors/passkeys.js';
import { BrowserSessions } from '../oauth/browser-sessions.js';
import { wrongCode, wrongPasskey, wrongPassword } from '../oauth/factor-pages.js';
import { FormGuard, type PageContext } from '../oauth/form-guard.js';
import { accountClientId, accountPath } from '../oauth/oauth-client.js';
import { type HostedPages, type Page, refuseForm, servePages, sendPage, setErrorStatus, textOfErrors } from '../oauth/pages.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { appendRevocations, RevocationsService } from '../revocations/revocations.js';
import { sha256 } from '../secrets/secrets.js';
import { listSessions } from '../sessions.repository.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { EmailVerification } from '../users/email-verification.service.js';
import { LoginAttempts, minutesOf } from '../users/login-attempts.js';
import { RecentLogin, type Shown } from '../users/recent-login.js';
import { usernameKey, type UserRecord } from '../users/user.js';
import { UserDeletionsService } from '../users/user-deletions.service.js';
import { accountPageKind, findUserById } from '../users/users.repository.js';
import { UsersService } from '../users/users.service.js';
import { accountPage, type AccountView, endPage, newKeyPage, type Refusal, type Section } from './account-views.js';
import { endGrantOf, listGrants } from './applications.js';
import { OwnData } from './own-data.js';

type Fields = ReadonlyMap<string, string>;

/** Time limit of a form, in milliseconds. */
const deadlineMs = 5_000;
/** Entries that the page shows of a list without an end. */
const maxShown = 100;
/** Downloads of a user in 15 minutes. */
const maxDownloads = 5;
const days = [30, 90, 365];
const dayMs = 86_400_000;
const uuidForm = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const onceForm = /^[\w-]{43}$/;

/** Refusals that say only that it has ended already: of a form that was sent twice, or that names what is not the user's. */
const alreadyEnded: ReadonlySet<string> = new Set(['session-not-found', 'api-key-not-found']);

/** Who looks at the page. */
interface Visitor {
  readonly user: UserRecord;
  /** Id of the session. */
  readonly sessionId: string;
  /** The provider's id of the session, which only the browser's cookie leads to. */
  readonly uid: string;
}

/** A form of the page, from its visitor. */
interface Submission extends Visitor {
  readonly provider: Provider;
  readonly ctx: PageContext;
  readonly context: RpcContext;
  readonly fields: Fields;
}

/** What a form does: it leads back to the page, which says so; or to a page of its own; or has answered. */
type Outcome = { readonly done: string } | { readonly page: Page } | 'answered';

/** The page "Your account", on which users see and end what acts in their name. It uses the session of the hosted log-in. */
@Injectable()
export class AccountPage implements HostedPages {
  /** Counts changes, by the form's action. */
  onChange: ((action: string) => void) | undefined;

  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly clock: DatabaseClock,
    private readonly guard: FormGuard,
    private readonly browserSessions: BrowserSessions,
    private readonly recentLogin: RecentLogin,
    private readonly passkeys: Passkeys,
    private readonly attempts: LoginAttempts,
    private readonly revocations: RevocationsService,
    private readonly users: UsersService,
    private readonly deletions: UserDeletionsService,
    private readonly verification: EmailVerification,
    private readonly sessions: SessionsService,
    private readonly apiKeys: ApiKeysService,
    private readonly ownData: OwnData,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  serveOn(provider: Provider): void {
    servePages(provider, (asked) => asked === accountPath, (ctx) => (ctx.method === 'POST' ? this.accept(provider, ctx) : this.show(provider, ctx)), { showsAgain: true });
  }

  private async show(provider: Provider, ctx: PageContext): Promise<void> {
    const { code, error, done } = ctx.query;
    // The log-in leads here with a code, for which the page has no use: it has the cookie.
    if (code !== undefined) {
      redirect(ctx, accountPath);
      return;
    }
    if (error !== undefined) {
      sendPage(ctx, endPage('You are not logged in', 'Nothing was changed.'));
      return;
    }
    const visitor = await this.visitorOf(provider, ctx);
    if (!visitor) redirect(ctx, this.loginAddress);
    else sendPage(ctx, accountPage(await this.viewOf(ctx, visitor, { done: typeof done === 'string' ? done : undefined })));
  }

  private async accept(provider: Provider, ctx: PageContext): Promise<void> {
    const visitor = await this.visitorOf(provider, ctx);
    if (!visitor) {
      ctx.status = 403;
      sendPage(ctx, endPage('You are logged out', 'Log in to see what your account is like now.'));
      return;
    }
    const fields = await this.guard.read(ctx, proofText(visitor));
    const action = fields?.get('action') ?? '';
    const form = this.forms.get(action);
    if (!fields || !form) {
      refuseForm(ctx, 'Open your account again.');
      return;
    }
    const submission = { ...visitor, provider, ctx, fields, context: contextOf(ctx, visitor) };
    let outcome: Outcome;
    let place: Refusal['place'] = 'section';
    try {
      if (form.isSensitive) {
        place = 'proof';
        await this.confirm(submission);
        place = 'form';
      }
      outcome = await form.act(submission);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      if (form.done === undefined || !alreadyEnded.has(error.code)) return this.refuse(ctx, visitor, { section: form.section, place, text: textOfRefusal(error), typed: fields }, error);
      outcome = { done: form.done };
    }
    if (outcome === 'answered') return;
    this.onChange?.(action);
    if ('page' in outcome) sendPage(ctx, outcome.page);
    else redirect(ctx, `${accountPath}?done=${outcome.done}`);
  }

  /** Checks again who the visitor is, unless the log-in is recent. @throws DomainError `recent-login-required`, `too-many-logins` */
  private async confirm({ context, ctx, user, sessionId, uid, fields }: Submission): Promise<void> {
    if (await this.recentLogin.isProven(context, {})) return;
    const { requestId, deadline } = context;
    const [password = '', code = '', passkey = ''] = [fields.get('current-password'), fields.get('factor'), fields.get('credential')];
    const shown = { password, code, passkey, place: proofText({ uid }), address: ctx.ip, requestId, deadline };
    const isShown = await this.recentLogin.isShown(user, shown);
    const hasFactor = await findHasFactor(this.database, user.userId);
    if (!isShown) throw new DomainError('recent-login-required', refusedProof(shown, hasFactor));
    await this.browserSessions.confirm(sessionId, hasFactor);
  }

  /** By action: where a refusal is shown, what happens, whether it asks again who the visitor is, and what is done if it was done already. */
  private readonly forms: ReadonlyMap<
    string,
    { readonly section: Section; readonly act: (submission: Submission) => Promise<Outcome>; readonly isSensitive?: true; readonly done?: string }
  > = new Map([
    ['log-out', { section: 'sessions', act: (one: Submission) => this.logOut(one) }],
    ['end-session', { section: 'sessions', act: (one: Submission) => this.endSession(one), done: 'session-ended' }],
    ['end-all', { section: 'sessions', act: (one: Submission) => this.endAll(one) }],
    ['set-password', { section: 'password', act: (one: Submission) => this.setPassword(one), isSensitive: true }],
    ['set-address', { section: 'email', act: (one: Submission) => this.setAddress(one), isSensitive: true }],
    ['verify-address', { section: 'email', act: (one: Submission) => this.sendVerification(one) }],
    ['mails-on', { section: 'mails', act: (one: Submission) => this.setMails(one, true) }],
    ['mails-off', { section: 'mails', act: (one: Submission) => this.setMails(one, false) }],
    ['create-key', { section: 'api-keys', act: (one: Submission) => this.createKey(one), isSensitive: true }],
    ['end-key', { section: 'api-keys', act: (one: Submission) => this.endKey(one), done: 'key-ended' }],
    ['end-access', { section: 'applications', act: (one: Submission) => this.endAccess(one) }],
    ['download', { section: 'data', act: (one: Submission) => this.download(one) }],
    ['delete', { section: 'deletion', act: (one: Submission) => this.delete(one), isSensitive: true }],
  ]);

  private async refuse(ctx: PageContext, visitor: Visitor, refused: Refusal, error: CodedError): Promise<void> {
    setErrorStatus(ctx, error);
    sendPage(ctx, accountPage(await this.viewOf(ctx, visitor, { refused })));
  }

  private async visitorOf(provider: Provider, ctx: PageContext): Promise<Visitor | undefined> {
    const { accountId: userId, uid } = await provider.Session.get(ctx);
    const sessionId = userId === undefined ? undefined : await this.browserSessions.findLive({ userId, uid, openedId: undefined });
    const user = userId === undefined || sessionId === undefined ? undefined : await findUserById(this.database, userId);
    return user && sessionId !== undefined ? { user, sessionId, uid } : undefined;
  }

  private get loginAddress(): string {
    const parameters = new URLSearchParams({
      ...{ client_id: accountClientId, redirect_uri: `${this.options.publicUrl}${accountPath}`, response_type: 'code', scope: 'openid' },
      // Nobody redeems the code.
      ...{ code_challenge: newRandom(), code_challenge_method: 'S256' },
    });
    return `/oauth/authorize?${parameters.toString()}`;
  }

  private async viewOf(ctx: PageContext, visitor: Visitor, more: Pick<AccountView, 'done' | 'refused'>): Promise<AccountView> {
    const { user, sessionId } = visitor;
    const { userId } = user;
    const [again, sessions, apiKeys, grants] = await Promise.all([
      this.againFor(ctx, visitor),
      listSessions(this.database, userId, this.options.idleHours),
      listLiveKeys(this.database, userId),
      listGrants(this.database, this.cipher, userId, maxShown + 1),
    ]);
    const now = this.clock.now();
    return {
      ...{ user, proof: this.guard.proofOf(proofText(visitor)), again, ownSession: sessionId, apiKeys, once: newRandom() },
      ...{ sessions: sessions.slice(0, maxShown), sessionCount: sessions.length, grants: grants.slice(0, maxShown), hasMoreGrants: grants.length > maxShown },
      permissions: permissionsOfRole[user.role],
      keyEnds: [...days.map((count) => ({ label: `after ${count} days`, at: new Date(now + count * dayMs).toISOString() })), { label: 'never by itself', at: '' }],
      ...more,
    };
  }

  private async againFor(ctx: PageContext, visitor: Visitor): Promise<AccountView['again']> {
    if (await this.recentLogin.isProven(contextOf(ctx, visitor), {})) return undefined;
    const { userId } = visitor.user;
    const [hasFactor, options] = await Promise.all([findHasFactor(this.database, userId), this.passkeys.requestOptions(proofText(visitor), userId)]);
    return { hasFactor, options };
  }

  private async logOut({ provider, ctx }: Submission): Promise<Outcome> {
    await (await provider.Session.get(ctx)).destroy();
    return { page: endPage('You are logged out', 'This browser has no session any more. Applications that are open, such as the console, stay logged in: log out there, too.') };
  }

  private async endSession({ context, user, fields }: Submission): Promise<Outcome> {
    const sessionId = fields.get('id') ?? '';
    if (uuidForm.test(sessionId)) await this.sessions.end(context, { username: user.username, sessionId });
    return { done: 'session-ended' };
  }

  private async endAll({ context, user }: Submission): Promise<Outcome> {
    await this.sessions.endAll(context, { username: user.username });
    return { page: endPage('You are logged out everywhere', 'All sessions have ended, and applications have lost their access. Your API keys continue to work.') };
  }

  private async setPassword({ context, ctx, user, fields }: Submission): Promise<Outcome> {
    const changes = { password: fields.get('password') ?? '', endApiKeys: fields.get('end-keys') === 'yes' };
    await this.users.patch(context, validated(PatchUser, { username: user.username, user: changes, address: ctx.ip }));
    return { page: endPage('The password is set', 'You are logged out everywhere.') };
  }

  private async setAddress({ context, ctx, user, fields }: Submission): Promise<Outcome> {
    const email = (fields.get('email') ?? '').trim();
    if (!isEmailAddress(email)) throw invalidInput([{ pointer: '/email', detail: 'must be one that mail can be sent to, such as ada@example.com' }]);
    await this.users.patch(context, validated(PatchUser, { username: user.username, user: { email }, address: ctx.ip }));
    return { done: 'address-changed' };
  }

  private async sendVerification({ context, ctx, user }: Submission): Promise<Outcome> {
    await this.verification.sendAgain(context, { username: user.username, address: ctx.ip });
    return { done: 'mail-sent' };
  }

  private async setMails({ context, user }: Submission, orderMails: boolean): Promise<Outcome> {
    await this.users.patch(context, validated(PatchUser, { username: user.username, user: { orderMails } }));
    return { done: orderMails ? 'mails-on' : 'mails-off' };
  }

  /** A form that is sent twice gets the same key: the browser shows only the second response. One that was changed in between asks for another. */
  private async createKey({ context, ctx, user, fields }: Submission): Promise<Outcome> {
    const [once = '', ends = ''] = [fields.get('once'), fields.get('ends')];
    const chosen = permissions.filter((one) => fields.has(`may ${one}`));
    if (chosen.length === 0) throw new CodedError('invalid-input', nothingChosen);
    const apiKey = { name: (fields.get('name') ?? '').trim(), permissions: chosen, ...(ends !== '' && { expiresAt: ends }) };
    const request = validated(CreateApiKey, { username: user.username, apiKey, address: ctx.ip });
    const sent = `${once} ${sha256(JSON.stringify(apiKey)).toString('base64url')}`;
    const key = onceForm.test(once) ? new IdempotencyKey(user.userId, sent, identity.createApiKey.pattern, Buffer.alloc(0)) : undefined;
    const { requestId, deadline, principal } = context;
    const created = await this.apiKeys.create(new RpcContext(requestId, deadline, principal, undefined, key), request);
    return { page: newKeyPage(unwrapResponse(created).value as CreatedApiKey) };
  }

  private async endKey({ context, user, fields }: Submission): Promise<Outcome> {
    const apiKeyId = fields.get('id') ?? '';
    if (uuidForm.test(apiKeyId)) await this.apiKeys.revoke(context, { username: user.username, apiKeyId });
    return { done: 'key-ended' };
  }

  private async endAccess({ context, user: { userId }, fields }: Submission): Promise<Outcome> {
    const grantId = fields.get('id') ?? '';
    const ended = await this.database.transaction(async (tx) => {
      if (!(await endGrantOf(tx, userId, grantId))) return false;
      audit(tx, actorOf(context), { pattern: 'identity.endGrant' }, `${userId}/${grantId}`);
      await appendRevocations(tx, [{ kind: 'grant', id: grantId }]);
      return true;
    });
    if (ended) this.revocations.publish();
    return { done: 'access-ended' };
  }

  private async download({ context, ctx, user }: Submission): Promise<Outcome> {
    const retryAfter = await this.database.transaction((tx) => this.attempts.countUse(tx, `own data of ${user.userId}`, maxDownloads));
    if (retryAfter !== undefined) throw new CodedError('too-many-requests', `You have downloaded your data several times. Try again in ${minutesOf(retryAfter)}.`, { retryAfter });
    const data = await this.ownData.open(context.requestId, user, () => ctx.res.destroy());
    await this.database.transaction((tx) => {
      audit(tx, actorOf(context), { pattern: 'identity.downloadOwnData' }, user.userId);
      return Promise.resolve();
    });
    this.onChange?.('download');
    ctx.set({ 'Cache-Control': 'no-store', 'Content-Disposition': 'attachment; filename="plant-shop-account.json"', 'X-Content-Type-Options': 'nosniff' });
    ctx.type = 'json';
    ctx.body = data;
    return 'answered';
  }

  private async delete({ context, user, fields }: Submission): Promise<Outcome> {
    if (usernameKey((fields.get('confirmed') ?? '').trim()) !== usernameKey(user.username)) {
      throw invalidInput([{ pointer: '/confirmed', detail: 'must be your username. Nothing was deleted' }]);
    }
    await this.deletions.delete(context, { username: user.username });
    return { page: endPage('Your account is deleted', 'All that it had has ended.') };
  }
}

/** Returns the text whose fingerprint is the proof: of this page and one log-in. */
const proofText = ({ uid }: Pick<Visitor, 'uid'>): string => `account page ${uid}`;

/** The visitor acts with the session of the browser. The second kind lets the audit log record what users do on this page. */
function contextOf(ctx: PageContext, { user, sessionId }: Visitor): RpcContext {
  const principal: Principal = { subject: user.userId, permissions: permissionsOfRole[user.role], shown: ['session', accountPageKind], shownIds: [sessionId] };
  return new RpcContext(requestIdOf(ctx.req), Deadline.in(deadlineMs), principal);
}

const newRandom = (): string => randomBytes(32).toString('base64url');

const nothingChosen = 'Choose at least one thing that the key may do.';

/** What was wrong with the proof of who the visitor is. */
function refusedProof({ password, code, passkey }: Pick<Shown, 'password' | 'code' | 'passkey'>, hasFactor: boolean): string {
  const wrong = hasFactor ? (passkey !== '' && wrongPasskey) || (code !== '' && wrongCode) : password !== '' && wrongPassword;
  return wrong ? `${wrong} Nothing was changed.` : 'Nothing was changed: show again that it is you.';
}

function textOfRefusal(error: CodedError): string {
  const { orders } = error.details;
  return Array.isArray(orders) ? `You have open orders: ${orders.join(', ')}. Cancel them, or wait for their delivery.` : textOfErrors(error);
}

function redirect(ctx: PageContext, address: string): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.redirect(address);
  ctx.status = 303;
}

