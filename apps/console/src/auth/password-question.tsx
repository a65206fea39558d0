// oxlint-disable-next-line no-restricted-imports
import { Modal } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { Cell } from '../shop/cell.js';
import { lazyFile } from '../shop/lazy-file.js';
import { useCell, useSession } from './session.js';

export interface Question {
  /** What the shop said about the answer before. */
  readonly refusal: string | undefined;
  readonly answer: (given: Answer | undefined) => void;
}

interface Answer {
  /** Empty: the code is that of a passkey, which is enough alone. */
  readonly password: string;
  /** Of a second factor; empty: none. */
  readonly code: string;
}

/** How long a repeated request may take: the time of the first one has passed while the user typed. */
const repeatMs = 15_000;
/** How long the client may take to send it once more. */
const lostMs = 10_000;

/** Repeats a sensitive change with the user's password or passkey. The console's tokens do not count as a recent login. */
export class PasswordQuestion {
  readonly open = new Cell<Question | undefined>(undefined);
  /** What a request was repeated with whose answer was lost: the client sends it once more, and the user has answered. */
  private lost: { readonly request: string; readonly given: Answer } | undefined;

  /** Asks until the answer is right or the user gives up; then returns the refusal. @param send sends a request */
  async askIfRequired(response: Response, init: RequestInit | undefined, send: (init: RequestInit) => Promise<Response>): Promise<Response> {
    let answer = response;
    let isFirst = true;
    const request = `${init?.method ?? ''} ${response.url} ${new Headers(init?.headers).get('idempotency-key') ?? ''}`;
    while (init && answer.status === 403 && answer.headers.get('content-type')?.includes('json') === true) {
      // As a whole: its request’s time may pass while the user types.
      const text = await answer.text();
      answer = new Response(text, answer);
      const refusal = refusalOf(text);
      if (refusal === undefined) break;
      const shown = isFirst ? undefined : refusal;
      const { lost } = this;
      this.lost = undefined;
      const given = lost?.request === request ? lost.given : await this.ask(shown);
      if (!given) break;
      isFirst = false;
      try {
        answer = await send({ ...withAnswer(init, given), signal: AbortSignal.timeout(repeatMs) });
      } catch (error) {
        const kept = { request, given };
        this.lost = kept;
        setTimeout(() => {
          if (this.lost === kept) this.lost = undefined;
        }, lostMs);
        throw error;
      }
    }
    return answer;
  }

  private async ask(refusal: string | undefined): Promise<Answer | undefined> {
    // The question opens with its field, which gets the focus.
    await PasswordForm.preload?.();
    try {
      return await new Promise<Answer | undefined>((resolve) => this.open.set({ refusal, answer: resolve }));
    } finally {
      this.open.set(undefined);
    }
  }
}

/** Returns why the shop asks who the user is; undefined if it does not. @param text of a problem */
function refusalOf(text: string): string | undefined {
  const { code, detail = '' } = JSON.parse(text) as { code?: string; detail?: string };
  return code === 'recent-login-required' ? detail : undefined;
}

function withAnswer(init: RequestInit, { password, code }: Answer): RequestInit {
  const given = { ...(password !== '' && { currentPassword: password }), ...(code !== '' && { currentCode: code }) };
  if (typeof init.body === 'string') return { ...init, body: JSON.stringify({ ...(JSON.parse(init.body) as object), ...given }) };
  const headers = new Headers(init.headers);
  if (given.currentPassword !== undefined) headers.set('current-password', encodeURIComponent(given.currentPassword));
  if (given.currentCode !== undefined) headers.set('current-code', encodeURIComponent(given.currentCode));
  return { ...init, headers };
}

export const PasswordForm = lazyFile(() => import('./password-form.js'), 'PasswordForm');

export function PasswordDialog(): ReactNode {
  const question = useCell(useSession().passwordQuestion.open);
  return (
    <Modal opened={question !== undefined} onClose={() => question?.answer(undefined)} title="Your password, please" centered zIndex={400}>
      {question && <Suspense><PasswordForm question={question} /></Suspense>}
    </Modal>
  );
}
