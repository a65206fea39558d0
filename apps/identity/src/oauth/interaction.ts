import { errors, type Provider } from 'oidc-provider';
import type { FormGuard, PageContext } from './form-guard.js';
import type { InteractionView } from './pages.js';
import { interactionPath } from './provider.js';

export type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;
export type Fields = ReadonlyMap<string, string>;

export const maxTextLength = 1_000;
/** Time limit of a log-in, in milliseconds. */
export const loginDeadlineMs = 5_000;

/** Pages between an authorization request and the login; the first has no name in its path. */
export type InteractionPage = 'log-in' | 'sign-up' | 'passkey' | 'factor';

/** A request for a page of an interaction, or from its form. */
export interface InteractionRequest {
  readonly provider: Provider;
  readonly ctx: PageContext;
  readonly interaction: Interaction;
  readonly page: InteractionPage;
}

/** Returns the text whose fingerprint is the proof. */
export const proofText = (uid: string): string => `interaction ${uid}`;

export const pathOf = ({ uid }: Interaction): string => `${interactionPath}/${uid}`;

export const clientIdOf = ({ params }: Interaction): string => String(params['client_id']);

/** @throws SessionNotFound when the client was deleted */
export async function viewOf(guard: FormGuard, { provider, interaction }: InteractionRequest): Promise<InteractionView> {
  const client = await provider.Client.find(clientIdOf(interaction));
  if (!client) throw new errors.SessionNotFound('the client was deleted');
  return {
    action: pathOf(interaction),
    proof: guard.proofOf(proofText(interaction.uid)),
    client: client.clientName ?? client.clientId,
    redirectUri: String(interaction.params['redirect_uri']),
  };
}

export const save = (interaction: Interaction): Promise<unknown> => interaction.save(Math.max(1, interaction.exp - Math.floor(Date.now() / 1_000)));

/**
 * Ends this browser's session, if any. The cookie identifies it, not the interaction: since the interaction began, someone
 * may have logged in on another page of the browser, and the provider supports one session per browser.
 */
export async function forgetLogIn({ provider, ctx }: Pick<InteractionRequest, 'provider' | 'ctx'>): Promise<void> {
  const session = await provider.Session.get(ctx);
  if (session.accountId !== undefined) await session.destroy();
}

export const userAgentOf = (ctx: PageContext): { userAgent?: string } => {
  const userAgent = ctx.get('user-agent').slice(0, 200);
  return userAgent === '' ? {} : { userAgent };
};

export function redirect(ctx: PageContext, address: string): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.redirect(address);
  ctx.status = 303;
}
