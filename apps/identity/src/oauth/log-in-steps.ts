import { Inject, Injectable } from '@nestjs/common';
import { CodedError } from '@plant-shop/platform/errors';
import { requestIdOf } from '@plant-shop/platform/http/request';
import type { Actor } from '@plant-shop/platform/patterns/audit-log';
import { Database } from '@plant-shop/platform/postgres/database';
import { findHasFactor } from '../factors/factors.repository.js';
import { type Enrolled, Factors } from '../factors/factors.service.js';
import { Passkeys } from '../factors/passkeys.js';
import { IDENTITY_OPTIONS, type IdentityOptions } from '../options.js';
import { neededOf, type Proven, SessionsService } from '../sessions/sessions.service.js';
import { RecentLogin } from '../users/recent-login.js';
import type { UserRecord } from '../users/user.js';
import { findUserById, type StoredPassword } from '../users/users.repository.js';
import { codesPage, continueForm, enrolmentPage, factorPage, passkeyPage, refusedFactor, wrongCode, wrongPasskey } from './factor-pages.js';
import { FormGuard } from './form-guard.js';
import { forgetLogIn, type Fields, type InteractionRequest, pathOf, proofText, redirect, save, userAgentOf, viewOf } from './interaction.js';
import { type Page, refuseForm, refuseLogIn, sendPage, setErrorStatus, textOfErrors } from './pages.js';
import { acrOf } from './provider.js';

/** A log-in whose password is right, in its interaction. */
interface Step {
  readonly userId: string;
  readonly passwordHash: string;
  /** `codes`: a factor was added, and its recovery codes are shown. */
  readonly stage: 'factor' | 'enrolment' | 'codes';
  /** How the added factor was proven. */
  readonly method?: string;
  readonly passkeyId?: string;
}

/** The steps of a log-in after the password, or instead of it: a second factor, a passkey alone, or adding the first factor. */
@Injectable()
export class LogInSteps {
  constructor(
    private readonly database: Database,
    private readonly sessions: SessionsService,
    private readonly factors: Factors,
    private readonly passkeys: Passkeys,
    private readonly recentLogin: RecentLogin,
    private readonly guard: FormGuard,
    @Inject(IDENTITY_OPTIONS) private readonly options: IdentityOptions,
  ) {}

  /** Goes on after the right password. */
  async begin(request: InteractionRequest, { userId, passwordHash, ...stored }: StoredPassword): Promise<void> {
    const needed = neededOf(stored, this.options);
    if (needed === 'nothing') return this.finish(request, { userId, passwordHash, provedFactor: false }, ['pwd']);
    await this.keep(request, { userId, passwordHash, stage: needed });
    redirect(request.ctx, `${pathOf(request.interaction)}/factor`);
  }

  async show(request: InteractionRequest): Promise<void> {
    if (request.page === 'passkey') {
      sendPage(request.ctx, await this.passkeyPage(request));
      return;
    }
    const found = await this.stepOf(request);
    if (!found) return;
    const { step, user } = found;
    if (step.stage === 'codes') return this.showCodes(request, undefined);
    sendPage(request.ctx, await this.pageOf(request, step, user));
  }

  async handle(request: InteractionRequest, fields: Fields): Promise<void> {
    const action = fields.get('action') ?? '';
    if (request.page === 'passkey') {
      if (action === 'passkey') await this.logInWithPasskey(request, fields);
      else refuseForm(request.ctx);
      return;
    }
    const found = await this.stepOf(request);
    if (!found) return;
    const { step, user } = found;
    try {
      await this.act(request, { step, user, action }, fields);
    } catch (error) {
      if (!(error instanceof CodedError) || step.stage === 'codes') throw error;
      setErrorStatus(request.ctx, error);
      sendPage(request.ctx, await this.pageOf(request, step, user, { error: textOfErrors(error) }));
    }
  }

  private async act(request: InteractionRequest, { step, user, action }: { step: Step; user: UserRecord; action: string }, fields: Fields): Promise<void> {
    const { stage } = step;
    if (stage === 'factor' && action === 'code') await this.checkCode(request, step, user, fields);
    else if (stage === 'factor' && action === 'passkey') await this.checkPasskey(request, step, user, fields);
    else if (stage !== 'factor' && (action === 'add-passkey' || action === 'add-app')) await this.enrol(request, step, user, fields);
    else if (stage === 'codes' && action === 'continue') await this.finish(request, { ...step, provedFactor: true }, ['pwd', step.method ?? 'otp', 'mfa']);
    else refuseForm(request.ctx);
  }

  private async logInWithPasskey(request: InteractionRequest, fields: Fields): Promise<void> {
    const proof = await this.passkeys.check(placeOf(request), fields.get('credential') ?? '', requestIdOf(request.ctx.req));
    if (proof) return this.finish(request, { userId: proof.userId, passkeyId: proof.factorId, provedFactor: true }, [proof.method, 'user', 'mfa']);
    refuseLogIn(request.ctx);
    sendPage(request.ctx, await this.passkeyPage(request, wrongPasskey));
  }

  private async checkCode(request: InteractionRequest, step: Step, user: UserRecord, fields: Fields): Promise<void> {
    if (await this.recentLogin.isCode(user, fields.get('code') ?? '', request.ctx.ip)) {
      return this.finish(request, { ...step, provedFactor: true }, ['pwd', 'otp', 'mfa']);
    }
    refuseLogIn(request.ctx);
    sendPage(request.ctx, await this.pageOf(request, step, user, { error: wrongCode }));
  }

  private async checkPasskey(request: InteractionRequest, step: Step, user: UserRecord, fields: Fields): Promise<void> {
    const proof = await this.passkeys.check(placeOf(request), fields.get('credential') ?? '', requestIdOf(request.ctx.req), step.userId);
    if (proof) return this.finish(request, { ...step, passkeyId: proof.factorId, provedFactor: true }, ['pwd', proof.method, 'mfa']);
    refuseLogIn(request.ctx);
    sendPage(request.ctx, await this.pageOf(request, step, user, { error: wrongPasskey }));
  }

  /** Adds the first factor, by which the log-in is then proven. */
  private async enrol(request: InteractionRequest, step: Step, user: UserRecord, fields: Fields): Promise<void> {
    const { ctx } = request;
    const actor: Actor = { requestId: requestIdOf(ctx.req), subject: user.userId, credentials: [{ kind: 'password' }] };
    const { enrolled, secret } = await this.factors.addFrom(fields, { user, place: placeOf(request), actor, address: ctx.ip, isFirst: true });
    if (!enrolled) {
      ctx.status = 400;
      sendPage(ctx, await this.pageOf(request, step, user, { error: refusedFactor(fields.get('action')), ...(secret !== undefined && { secret, appName: fields.get('name') ?? undefined }) }));
      return;
    }
    const { factor } = enrolled;
    const how = factor.kind === 'passkey' ? { method: enrolled.method, passkeyId: factor.id } : { method: 'otp' };
    await this.keep(request, { userId: step.userId, passwordHash: step.passwordHash, stage: 'codes', ...how });
    return this.showCodes(request, enrolled.codes);
  }

  private async showCodes(request: InteractionRequest, codes: Enrolled['codes']): Promise<void> {
    const { action, proof, redirectUri } = await viewOf(this.guard, request);
    sendPage(request.ctx, codesPage(codes, continueForm({ action: `${action}/factor`, proof }), redirectUri));
  }

  /** Opens the session, and returns to the authorization request. */
  private async finish(request: InteractionRequest, proven: Proven, methods: readonly string[]): Promise<void> {
    const { ctx, interaction } = request;
    const { id } = await this.sessions.openProven(proven, { address: ctx.ip, ...userAgentOf(ctx) });
    await forgetLogIn(request);
    delete interaction.session;
    interaction.result = { login: { accountId: proven.userId, remember: false, sessionId: id, acr: acrOf(proven.provedFactor), amr: [...methods] } };
    await save(interaction);
    redirect(ctx, interaction.returnTo);
  }

  private async keep({ interaction }: InteractionRequest, step: Step): Promise<void> {
    interaction.result = { step: { ...step } };
    await save(interaction);
  }

  /**
   * Returns the step that the interaction is at, or sends the browser back to the log-in when it is at none, and on when it is through.
   * A factor that was added meanwhile must be proven, not another one added.
   */
  private async stepOf({ ctx, interaction }: InteractionRequest): Promise<{ step: Step; user: UserRecord } | undefined> {
    const step = interaction.result?.['step'] as Step | undefined;
    const user = step && (await findUserById(this.database, step.userId));
    if (!user) {
      // Of a form that is sent twice, the first has logged in, but the browser shows the second response.
      redirect(ctx, interaction.result?.login ? interaction.returnTo : pathOf(interaction));
      return undefined;
    }
    const isEnrolled = step.stage === 'enrolment' && (await findHasFactor(this.database, step.userId));
    return { step: isEnrolled ? { ...step, stage: 'factor' } : step, user };
  }

  private async passkeyPage(request: InteractionRequest, error?: string): Promise<Page> {
    const { action, proof, redirectUri } = await viewOf(this.guard, request);
    const options = await this.passkeys.anyOptions(placeOf(request));
    return passkeyPage({ action: `${action}/passkey`, back: action, proof, redirectUri, options, error });
  }

  private async pageOf(request: InteractionRequest, { stage }: Step, user: UserRecord, { error, secret, appName }: { error?: string; secret?: string; appName?: string | undefined } = {}): Promise<Page> {
    const { action: back, proof, redirectUri } = await viewOf(this.guard, request);
    const view = { action: `${back}/factor`, back, proof, redirectUri, username: user.username, error };
    const place = placeOf(request);
    if (stage !== 'factor') {
      const options = await this.passkeys.creationOptions(place, user);
      return enrolmentPage({ ...view, options, appName, app: this.factors.newTotp(place, user.userId, secret) });
    }
    return factorPage({ ...view, options: await this.passkeys.requestOptions(place, user.userId) });
  }
}

/** The page and the browser that a challenge or a secret is for. */
const placeOf = ({ interaction }: InteractionRequest): string => proofText(interaction.uid);
