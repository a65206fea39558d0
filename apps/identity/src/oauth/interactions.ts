import { Inject, Injectable } from '@nestjs/common';
import { isEmailAddress } from '@plant-shop/contracts/fields';
import { identity, NewUser } from '@plant-shop/contracts/identity';
import { type AgentTool, toolsFor } from '@plant-shop/contracts/agent-tools';
import { type Permission, permissions, permissionsOfRole } from '@plant-shop/contracts/permissions';
import { CodedError, invalidInput } from '@plant-shop/platform/errors';
import { Deadline, IdempotencyKey, RpcContext } from '@plant-shop/platform/rpc/context';
import { Database } from '@plant-shop/platform/postgres/database';
import { requestIdOf } from '@plant-shop/platform/http/request';
import { validated } from '@plant-shop/platform/rpc/validation';
import { errors, type Provider } from 'oidc-provider';
import { sha256 } from '../secrets/secrets.js';
import { Passkeys } from '../factors/passkeys.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { SessionsService } from '../sessions/sessions.service.js';
import type { UserRecord } from '../users/user.js';
import { findUserById } from '../users/users.repository.js';
import { UsersService } from '../users/users.service.js';
import { apiResource, resourcesOf } from './access-token.js';
import { BrowserSessions } from './browser-sessions.js';
import { signUpPage, type SignUpView } from './account-pages.js';
import { FormGuard, type PageContext } from './form-guard.js';
import { clientIdOf, forgetLogIn, type Fields, type Interaction, type InteractionPage, type InteractionRequest, loginDeadlineMs, maxTextLength, pathOf, proofText, redirect, userAgentOf, viewOf } from './interaction.js';
import { LogInSteps } from './log-in-steps.js';
import { GrantsService } from '../grants/grants.service.js';
import { type IdentityScope, identityScopes } from './oauth-client.js';
import { consentPage, type ConsentView, type HostedPages, messagePage, loginPage, type Page, refuseForm, servePages, sendPage, setErrorStatus, textOfErrors } from './pages.js';
import { interactionPath, returnsToShop } from './provider.js';

const path = new RegExp(`^${interactionPath}/([\\w-]{1,64})(?:/(sign-up|passkey|factor))?$`);
/** Cannot collide with an interaction: their ids are longer. */
const logoutPath = `${interactionPath}/logout`;
/** Where the browser resumes the authorization after login or consent. */
const resumePath = /^\/oauth\/authorize\/([\w-]{1,64})$/;
/** For people whose username is another text. It says nothing about accounts. */
const notTheAddress = 'If you typed your e-mail address, type your username: the mail for a forgotten password names it.';

/** Serves the login and consent pages, between an application's authorization request and the response. */
@Injectable()
export class Interactions implements HostedPages {
  constructor(
    private readonly database: Database,
    private readonly users: UsersService,
    private readonly guard: FormGuard,
    private readonly steps: LogInSteps,
    private readonly passkeys: Passkeys,
    private readonly sessions: SessionsService,
    private readonly browserSessions: BrowserSessions,
    private readonly grants: GrantsService,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  serveOn(provider: Provider): void {
    provider.use(async (ctx, next) => {
      if (ctx.method === 'GET' && resumePath.test(ctx.path) && (await this.refuseAfterUserSwitch(provider, ctx))) return;
      await next();
    });
    provider.use(async (ctx, next) => {
      if (ctx.method === 'POST' && ctx.path === logoutPath) await this.logOut(provider, ctx);
      else await next();
    });
    servePages(provider, (asked) => path.test(asked), (ctx) => this.serve(provider, ctx), { showsAgain: true });
  }

  /**
   * Ends an interaction with an error page if another user has logged in with this browser since its own login. The provider
   * would ask to log out, without saying why.
   * @returns whether it answered the request
   */
  private async refuseAfterUserSwitch(provider: Provider, ctx: PageContext): Promise<boolean> {
    const interaction = await provider.Interaction.find(resumePath.exec(ctx.path)?.[1] ?? '');
    const login = interaction?.result?.login;
    const session = await provider.Session.get(ctx);
    if (!interaction || !login || session.accountId === undefined || session.accountId === login.accountId) return false;
    await interaction.destroy();
    ctx.status = 409;
    const text = 'Another user has logged in with this browser. Go back to the application and start again.';
    sendPage(ctx, messagePage('Another user is logged in', text));
    return true;
  }

  private async serve(provider: Provider, ctx: PageContext): Promise<void> {
    const [, uid = '', page = 'log-in'] = path.exec(ctx.path) ?? [];
    const interaction = await provider.interactionDetails(ctx.req, ctx.res);
    // The cookie decides which interaction the browser is in: the URL may come from someone else.
    if (interaction.uid !== uid) throw new errors.SessionNotFound('another interaction');
    const request = { provider, ctx, interaction, page: page as InteractionPage };
    if (ctx.method !== 'POST') return this.show(request);
    const fields = await this.guard.read(ctx, proofText(uid));
    if (fields) await this.handleForm(request, fields);
    else refuseForm(ctx);
  }

  private async handleForm(request: InteractionRequest, fields: Fields): Promise<void> {
    const action = fields.get('action') ?? '';
    const { interaction: { prompt }, page } = request;
    if (page === 'sign-up') {
      if (action === 'sign-up' && prompt.name === 'login') await this.signUp(request, fields);
      else refuseForm(request.ctx);
    } else if (page !== 'log-in' && action !== 'deny') {
      if (prompt.name === 'login') await this.steps.handle(request, fields);
      else refuseForm(request.ctx);
    } else if (action === 'login' && prompt.name === 'login') await this.login(request, fields);
    else if (action === 'allow' && prompt.name === 'consent') await this.allow(request, fields);
    else if (action === 'switch') await this.switchUser(request);
    else if (action === 'deny') {
      await this.resume(request, { error: 'access_denied', error_description: 'the user denied access' });
    } else refuseForm(request.ctx);
  }

  private async show(request: InteractionRequest): Promise<void> {
    const { ctx, interaction, page } = request;
    if (page !== 'log-in') {
      if (interaction.prompt.name !== 'login') redirect(ctx, pathOf(interaction));
      else if (page === 'sign-up') sendPage(ctx, await this.signUpPage(request));
      else await this.steps.show(request);
      return;
    }
    if (interaction.prompt.name === 'login') {
      const hint = interaction.params['login_hint'];
      sendPage(ctx, await this.loginPage(request, typeof hint === 'string' ? { username: hint } : {}));
      return;
    }
    const consent = await this.consentRequestOf(interaction);
    if (!consent) return this.restart(request);
    // Who has just logged in to the shop has nothing to allow to the shop's own pages.
    if (returnsToShop(interaction.params['redirect_uri'], this.options.publicUrl) && !interaction.prompt.reasons.includes('consent_prompt')) {
      return this.grant(request, consent);
    }
    sendPage(ctx, consentPage(await this.consentViewOf(request, consent)));
  }

  private async login(request: InteractionRequest, fields: Fields): Promise<void> {
    const { ctx } = request;
    const [username = '', password = ''] = [fields.get('username')?.trim(), fields.get('password')];
    try {
      const stored = await this.sessions.verifyPassword(Deadline.in(loginDeadlineMs), {
        username: username.slice(0, maxTextLength),
        password: password.slice(0, maxTextLength),
        address: ctx.ip,
        ...userAgentOf(ctx),
      });
      await this.steps.begin(request, stored);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      setErrorStatus(ctx, error);
      const isAddress = error.code === 'login-failed' && username.includes('@');
      sendPage(ctx, await this.loginPage(request, { username, error: isAddress ? `${error.message} ${notTheAddress}` : error.message }));
    }
  }

  /** Registers a user, and logs in as that. A form that is sent twice registers one: the browser shows only the second response. */
  private async signUp(request: InteractionRequest, fields: Fields): Promise<void> {
    const { ctx, interaction } = request;
    const [username = '', email = '', password = ''] = [fields.get('username')?.trim(), fields.get('email')?.trim(), fields.get('password')];
    try {
      const user = validated(NewUser, { username, email, password });
      // Only here: the API accepts any text.
      if (!isEmailAddress(email)) throw invalidInput([{ pointer: '/email', detail: 'must be one that mail can be sent to, such as ada@example.com' }]);
      const form = new IdempotencyKey(`sign-up ${interaction.uid}`, this.guard.proofOf(JSON.stringify(user)), identity.createUser.pattern, Buffer.alloc(0));
      await this.users.create(new RpcContext(requestIdOf(ctx.req), Deadline.in(loginDeadlineMs), undefined, undefined, form), { user, address: ctx.ip });
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      setErrorStatus(ctx, error);
      sendPage(ctx, await this.signUpPage(request, { username, email, error: textOfErrors(error) }));
      return;
    }
    await this.login(request, fields);
  }

  private async allow(request: InteractionRequest, fields: Fields): Promise<void> {
    const consent = await this.consentRequestOf(request.interaction);
    if (!consent) return this.restart(request);
    // Shows the page again if its content has changed, such as the user's permissions: only what was shown is granted.
    const view = await this.consentViewOf(request, consent);
    if (fields.get('shown') === view.digest) return this.grant(request, consent);
    sendPage(request.ctx, consentPage(view));
  }

  private async grant(request: InteractionRequest, consent: ConsentRequest): Promise<void> {
    const { provider, interaction } = request;
    const { user, allowed, notPermitted, identity, uid } = consent;
    const grant = new provider.Grant({ accountId: user.userId, clientId: clientIdOf(interaction) });
    const granted = [...identity, ...allowed].join(' ');
    if (granted !== '') {
      grant.addOIDCScope(granted);
      for (const resource of consent.resources) grant.addResourceScope(resource, granted);
    }
    // Rejected scopes are not requested again.
    if (notPermitted.length > 0) {
      grant.rejectOIDCScope(notPermitted.join(' '));
      for (const resource of consent.resources) grant.rejectResourceScope(resource, notPermitted.join(' '));
    }
    const grantId = await grant.save();
    if (!(await this.browserSessions.noteGrant(user.userId, uid, grantId))) {
      await grant.destroy();
      return this.restart(request);
    }
    await this.grants.endOldest(user.userId, clientIdOf(interaction));
    return this.resume(request, { consent: { grantId } });
  }

  private async resume(
    { provider, ctx }: InteractionRequest,
    result: Parameters<Provider['interactionResult']>[2],
  ): Promise<void> {
    const merge = { mergeWithLastSubmission: result['error'] === undefined };
    redirect(ctx, await provider.interactionResult(ctx.req, ctx.res, result, merge));
  }

  private async switchUser(request: InteractionRequest): Promise<void> {
    await forgetLogIn(request);
    return this.restart(request);
  }

  /** Repeats the application's authorization request from the beginning. */
  private async restart({ ctx, interaction }: InteractionRequest): Promise<void> {
    await interaction.destroy();
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(interaction.params)) {
      if (typeof value === 'string') parameters.set(name, value);
    }
    redirect(ctx, `${this.options.publicUrl}/oauth/authorize?${parameters.toString()}`);
  }

  /** Ends this browser's session, for "Log out" of the console. The console itself revokes its tokens. */
  private async logOut(provider: Provider, ctx: PageContext): Promise<void> {
    if (!this.guard.isSameOrigin(ctx) || ctx.headers.origin === undefined) {
      refuseForm(ctx);
      return;
    }
    await forgetLogIn({ provider, ctx });
    ctx.set('Cache-Control', 'no-store');
    ctx.status = 204;
  }

  /** Returns what the application requests from the user, or undefined when no user is logged in any more. */
  private async consentRequestOf(interaction: Interaction): Promise<ConsentRequest | undefined> {
    const { session, params } = interaction;
    const user = session && (await findUserById(this.database, session.accountId));
    if (!user) return undefined;
    const scopes = typeof params['scope'] === 'string' ? params['scope'].split(' ') : [];
    const requested = permissions.filter((one) => scopes.includes(one));
    const permitted = permissionsOfRole[user.role];
    const allowed = requested.filter((one) => permitted.includes(one));
    const { publicUrl } = this.options;
    const resources = resourcesOf(publicUrl).filter((one) => [params['resource'] ?? apiResource(publicUrl)].flat().includes(one));
    return {
      user,
      uid: session.uid,
      resources,
      tools: resources.some((one) => one !== apiResource(publicUrl)) ? toolsFor({ permissions: allowed, shown: ['accessToken'] }) : [],
      allowed,
      notPermitted: requested.filter((one) => !permitted.includes(one)),
      identity: identityScopes.filter((one) => scopes.includes(one)),
    };
  }

  private async loginPage(request: InteractionRequest, more: { username?: string; error?: string }): Promise<Page> {
    return loginPage({ ...(await viewOf(this.guard, request)), passkeys: this.passkeys.isPossible, ...more });
  }

  private async signUpPage(request: InteractionRequest, more: Pick<SignUpView, 'username' | 'email' | 'error'> = {}): Promise<Page> {
    return signUpPage({ ...(await viewOf(this.guard, request)), ...more });
  }

  /** Returns the content of the consent page with its digest. */
  private async consentViewOf(request: InteractionRequest, consent: ConsentRequest): Promise<ConsentView> {
    const { user, allowed, notPermitted, identity, tools } = consent;
    const { proof, ...common } = await viewOf(this.guard, request);
    const agent = { reads: tools.filter(({ changes }) => !changes).map(({ title }) => title), changes: tools.filter(({ changes }) => changes).map(({ title }) => title) };
    const page = { ...common, username: user.username, allowed, notPermitted, identity, ...(tools.length > 0 && { agent }) };
    return { ...page, proof, digest: sha256(JSON.stringify([user.userId, page])).toString('base64url') };
  }
}

/** What the application requests from the user. */
interface ConsentRequest {
  readonly user: UserRecord;
  /** The provider's id of the session. */
  readonly uid: string;
  /** What the tokens will be for. */
  readonly resources: readonly string[];
  /** What an agent may call; none for other applications. */
  readonly tools: readonly AgentTool[];
  readonly allowed: readonly Permission[];
  readonly notPermitted: readonly Permission[];
  readonly identity: readonly IdentityScope[];
}
