import { timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Permission, permissions, permissionsOfRole } from '@plant-shop/contracts/permissions';
import { CodedError } from '@plant-shop/platform/errors';
import { Database } from '@plant-shop/platform/postgres/database';
import { Deadline } from '@plant-shop/platform/rpc/deadline';
import { errors, type Provider } from 'oidc-provider';
import { Cipher } from '../credentials/cipher.js';
import { sha256 } from '../credentials/secret.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { UserRecord } from '../users/user.js';
import { findUserById } from '../users/users.repository.js';
import { resourceOf } from './access-token.js';
import { BrowserLogins } from './browser-logins.js';
import { fieldsOf, type PageContext, readForm } from './form.js';
import { GrantsService } from './grants.service.js';
import { consentPage, type ConsentStep, faultPage, loginPage, type Page, sendPage } from './pages.js';
import { interactionPath } from './provider.js';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;
type Fields = ReadonlyMap<string, string>;

const path = new RegExp(`^${interactionPath}/([\\w-]{1,64})$`);
/** No interaction has this name: theirs are longer. */
const logoutPath = `${interactionPath}/logout`;
/** Where a browser goes on with its authorization after a page. */
const resumePath = /^\/oauth\/authorize\/([\w-]{1,64})$/;
const maxFormBytes = 8 * 1024;
const maxTextLength = 1_000;
const loginDeadlineMs = 5_000;

/** One request for one interaction. */
interface Step {
  readonly provider: Provider;
  readonly ctx: PageContext;
  readonly interaction: Interaction;
}

/** The pages on which people log in and allow what an application asks for, between its request and our answer to it. */
@Injectable()
export class Interactions {
  constructor(
    private readonly database: Database,
    private readonly cipher: Cipher,
    private readonly sessions: SessionsService,
    private readonly logins: BrowserLogins,
    private readonly grants: GrantsService,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  serveOn(provider: Provider): void {
    provider.use(async (ctx, next) => {
      if (ctx.method === 'GET' && resumePath.test(ctx.path) && (await this.isTaken(provider, ctx))) return;
      await next();
    });
    provider.use(async (ctx, next) => {
      if (ctx.method === 'POST' && ctx.path === logoutPath) await this.logOut(provider, ctx);
      else await next();
    });
    provider.use(async (ctx, next) => {
      const uid = path.exec(ctx.path)?.[1];
      if (uid === undefined || (ctx.method !== 'GET' && ctx.method !== 'POST')) {
        await next();
        return;
      }
      try {
        await this.serve(provider, ctx, uid);
      } catch (error) {
        answerFailure(provider, ctx, error as Error);
      }
    });
  }

  /**
   * Whether somebody else has logged in in this browser since this page's user did. The provider would ask to log out first,
   * on a page that we do not have.
   */
  private async isTaken(provider: Provider, ctx: PageContext): Promise<boolean> {
    const interaction = await provider.Interaction.find(resumePath.exec(ctx.path)?.[1] ?? '');
    const login = interaction?.result?.login;
    const session = await provider.Session.get(ctx);
    if (!interaction || !login || session.accountId === undefined || session.accountId === login.accountId) return false;
    await interaction.destroy();
    ctx.status = 409;
    const text = 'In this browser somebody else logged in at the same time. Go back to the application and start again.';
    sendPage(ctx, faultPage('Somebody else is logged in', text));
    return true;
  }

  private async serve(provider: Provider, ctx: PageContext, uid: string): Promise<void> {
    const interaction = await provider.interactionDetails(ctx.req, ctx.res);
    // The cookie says which interaction this browser is in; an address that somebody sent does not.
    if (interaction.uid !== uid) throw new errors.SessionNotFound('another interaction');
    const step = { provider, ctx, interaction };
    if (ctx.method === 'GET') return this.show(step);
    const form = this.isFromHere(ctx) ? await readForm(ctx.req, maxFormBytes) : undefined;
    const fields = form === undefined ? undefined : fieldsOf(form);
    if (fields && this.isProof(uid, fields.get('proof'))) await this.act(step, fields);
    else refuseForm(ctx);
  }

  private async act(step: Step, fields: Fields): Promise<void> {
    const action = fields.get('action') ?? '';
    const { prompt } = step.interaction;
    if (action === 'login' && prompt.name === 'login') await this.login(step, fields);
    else if (action === 'allow' && prompt.name === 'consent') await this.allow(step, fields);
    else if (action === 'switch') await this.switchUser(step);
    else if (action === 'deny') {
      await this.goOn(step, { error: 'access_denied', error_description: 'the user did not allow it' });
    } else refuseForm(step.ctx);
  }

  private async show(step: Step): Promise<void> {
    const { ctx, interaction } = step;
    if (interaction.prompt.name === 'login') {
      const hint = interaction.params['login_hint'];
      sendPage(ctx, await this.loginPage(step, typeof hint === 'string' ? { username: hint } : {}));
      return;
    }
    const asked = await this.askedOf(interaction);
    if (!asked) return this.startAnew(step);
    sendPage(ctx, consentPage(await this.consentOf(step, asked)));
  }

  private async login(step: Step, fields: Fields): Promise<void> {
    const { ctx, interaction } = step;
    const [username = '', password = ''] = [fields.get('username'), fields.get('password')];
    let opened: Awaited<ReturnType<SessionsService['open']>>;
    try {
      opened = await this.sessions.open(Deadline.in(loginDeadlineMs), {
        username: username.slice(0, maxTextLength),
        password: password.slice(0, maxTextLength),
        address: ctx.ip,
        ...userAgentOf(ctx),
      });
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      answerCode(ctx, error);
      sendPage(ctx, await this.loginPage(step, { username, error: error.message }));
      return;
    }
    await this.endLogin(step);
    delete interaction.session;
    interaction.result = { login: { accountId: opened.userId, remember: false, sessionId: opened.id } };
    await interaction.save(secondsLeft(interaction));
    redirect(ctx, interaction.returnTo);
  }

  private async allow(step: Step, fields: Fields): Promise<void> {
    const { provider, interaction } = step;
    const asked = await this.askedOf(interaction);
    if (!asked) return this.startAnew(step);
    const { user, allowed, beyond, learnsWho, uid } = asked;
    // Something has changed since the page was shown, like what the user may do: only what was seen is allowed.
    const page = await this.consentOf(step, asked);
    if (fields.get('shown') !== page.shown) {
      sendPage(step.ctx, consentPage(page));
      return;
    }
    const grant = new provider.Grant({ accountId: user.userId, clientId: clientIdOf(interaction) });
    if (learnsWho) grant.addOIDCScope('openid');
    if (allowed.length > 0) {
      grant.addOIDCScope(allowed.join(' '));
      grant.addResourceScope(resourceOf(this.options.publicUrl), allowed.join(' '));
    }
    // What is rejected is not asked for again.
    if (beyond.length > 0) {
      grant.rejectOIDCScope(beyond.join(' '));
      grant.rejectResourceScope(resourceOf(this.options.publicUrl), beyond.join(' '));
    }
    const grantId = await grant.save();
    if (!(await this.logins.isStillLive(user.userId, uid))) {
      await grant.destroy();
      return this.startAnew(step);
    }
    await this.grants.endOldest(user.userId, clientIdOf(interaction));
    return this.goOn(step, { consent: { grantId } });
  }

  private async goOn(
    { provider, ctx }: Step,
    result: Parameters<Provider['interactionResult']>[2],
  ): Promise<void> {
    const merge = { mergeWithLastSubmission: result['error'] === undefined };
    redirect(ctx, await provider.interactionResult(ctx.req, ctx.res, result, merge));
  }

  private async switchUser(step: Step): Promise<void> {
    await this.endLogin(step);
    return this.startAnew(step);
  }

  /** Makes the application's request once more. */
  private async startAnew({ ctx, interaction }: Step): Promise<void> {
    await interaction.destroy();
    const request = new URLSearchParams();
    for (const [name, value] of Object.entries(interaction.params)) {
      if (typeof value === 'string') request.set(name, value);
    }
    redirect(ctx, `${this.options.publicUrl}/oauth/authorize?${request.toString()}`);
  }

  /**
   * Ends the login of this browser, if any. The cookie says which: since this interaction began, somebody may have logged
   * in by another page of the browser, and the provider cannot go on with two.
   */
  private async endLogin({ provider, ctx }: Pick<Step, 'provider' | 'ctx'>): Promise<void> {
    const session = await provider.Session.get(ctx);
    if (session.accountId === undefined) return;
    await this.logins.end(session.uid);
    await session.destroy();
  }

  /** Ends the login of this browser, for the shop's own pages: the console's "Log out". What it granted is revoked by the page. */
  private async logOut(provider: Provider, ctx: PageContext): Promise<void> {
    if (!this.isFromHere(ctx) || ctx.headers.origin === undefined) {
      refuseForm(ctx);
      return;
    }
    await this.endLogin({ provider, ctx });
    ctx.set('Cache-Control', 'no-store');
    ctx.status = 204;
  }

  /** What the application asks the user for. @returns undefined when nobody is logged in any more */
  private async askedOf(interaction: Interaction): Promise<Asked | undefined> {
    const { session, params } = interaction;
    const user = session && (await findUserById(this.database, session.accountId));
    if (!user) return undefined;
    const scopes = typeof params['scope'] === 'string' ? params['scope'].split(' ') : [];
    const asked = permissions.filter((one) => scopes.includes(one));
    const mayDo = permissionsOfRole[user.role];
    return {
      user,
      uid: session.uid,
      allowed: asked.filter((one) => mayDo.includes(one)),
      beyond: asked.filter((one) => !mayDo.includes(one)),
      learnsWho: scopes.includes('openid'),
    };
  }

  private async loginPage(step: Step, more: { username?: string; error?: string }): Promise<Page> {
    return loginPage({ ...(await this.commonOf(step)), ...more });
  }

  /** What the page shows; its form says which page it is from. */
  private async consentOf(step: Step, { user, allowed, beyond, learnsWho }: Asked): Promise<ConsentStep> {
    const { proof, ...common } = await this.commonOf(step);
    const page = { ...common, username: user.username, allowed, beyond, learnsWho };
    return { ...page, proof, shown: sha256(JSON.stringify([user.userId, page])).toString('base64url') };
  }

  private async commonOf({ provider, interaction }: Step): Promise<Common> {
    const client = await provider.Client.find(clientIdOf(interaction));
    if (!client) throw new errors.SessionNotFound('the client is gone');
    return {
      action: `${interactionPath}/${interaction.uid}`,
      proof: this.cipher.fingerprint(proofOf(interaction.uid)).toString('base64url'),
      client: client.clientName ?? client.clientId,
      redirectUri: String(interaction.params['redirect_uri']),
    };
  }

  /** That a form is from a page of ours: nobody else can make it, and the address does not tell it. */
  private isProof(uid: string, shown = ''): boolean {
    const given = Buffer.from(shown, 'base64url');
    const text = proofOf(uid);
    return [this.cipher.fingerprint(text), ...this.cipher.formerFingerprints(text)].some(
      (expected) => expected.length === given.length && timingSafeEqual(expected, given),
    );
  }

  /** What browsers say of where a form comes from; the cookie, which other sites do not send, and the proof say more. */
  private isFromHere(ctx: PageContext): boolean {
    const { origin, 'sec-fetch-site': site } = ctx.headers;
    return (origin === undefined || origin === this.options.publicUrl) && (site === undefined || site === 'same-origin');
  }
}

interface Asked {
  readonly user: UserRecord;
  /** The provider's name for the session. */
  readonly uid: string;
  readonly allowed: readonly Permission[];
  readonly beyond: readonly Permission[];
  readonly learnsWho: boolean;
}

interface Common {
  readonly action: string;
  readonly proof: string;
  readonly client: string;
  readonly redirectUri: string;
}

/** What a page's proof is the fingerprint of. */
const proofOf = (uid: string): string => `interaction ${uid}`;

const clientIdOf = ({ params }: Interaction): string => String(params['client_id']);

const secondsLeft = ({ exp }: Interaction): number => Math.max(1, exp - Math.floor(Date.now() / 1_000));

const userAgentOf = (ctx: PageContext): { userAgent?: string } => {
  const said = ctx.get('user-agent').slice(0, 200);
  return said === '' ? {} : { userAgent: said };
};

function redirect(ctx: PageContext, address: string): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.redirect(address);
  ctx.status = 303;
}

function refuseForm(ctx: PageContext): void {
  ctx.status = 403;
  sendPage(ctx, faultPage('This did not work', 'The form did not come from a page of the shop. Go back to the application and start again.'));
}

function answerCode(ctx: PageContext, error: CodedError): void {
  const { retryAfter } = error.details;
  if (error.code === 'login-failed') {
    ctx.status = 401;
    ctx.set('WWW-Authenticate', 'Bearer realm="plant-shop"');
    return;
  }
  ctx.status = error.code === 'too-many-logins' ? 429 : 503;
  ctx.set('Retry-After', String(typeof retryAfter === 'number' ? retryAfter : 1));
}

function answerFailure(provider: Provider, ctx: PageContext, error: Error): void {
  // The interaction has ended, or the client, or the login.
  if (error instanceof errors.OIDCProviderError) {
    ctx.status = 400;
    sendPage(ctx, faultPage('This page has expired', 'Go back to the application and start again.'));
    return;
  }
  ctx.status = 500;
  if (error instanceof CodedError) answerCode(ctx, error);
  else provider.emit('server_error', ctx, error);
  const text = error instanceof CodedError ? error.message : 'The shop could not do this. Go back to the application and try again.';
  sendPage(ctx, faultPage('Not now', text));
}
