import { Modal } from '@mantine/core';
import { lazy, type ReactNode, Suspense } from 'react';
import { Cell } from '../shop/cell.js';
import { useCell, useSession } from './session.js';

export interface Question {
  readonly wasWrong: boolean;
  readonly answer: (password: string | undefined) => void;
}

/** How long a repeated request may take: the time of the first one has passed while the user typed. */
const repeatMs = 15_000;

/** Repeats a sensitive change with the user's password. The console's tokens do not count as a recent login. */
export class PasswordQuestion {
  readonly open = new Cell<Question | undefined>(undefined);

  /** Asks until the password is right or the user gives up; then returns the refusal. @param send sends a request */
  async askIfRequired(response: Response, init: RequestInit | undefined, send: (init: RequestInit) => Promise<Response>): Promise<Response> {
    let answer = response;
    for (let wasWrong = false; init && (await isRequired(answer)); wasWrong = true) {
      const password = await new Promise<string | undefined>((resolve) => this.open.set({ wasWrong, answer: resolve }));
      this.open.set(undefined);
      if (password === undefined) break;
      answer = await send({ ...withPassword(init, password), signal: AbortSignal.timeout(repeatMs) });
    }
    return answer;
  }
}

const isRequired = async (response: Response): Promise<boolean> =>
  response.status === 403 && ((await response.clone().json()) as { code?: string }).code === 'recent-login-required';

function withPassword(init: RequestInit, password: string): RequestInit {
  if (typeof init.body === 'string') return { ...init, body: JSON.stringify({ ...(JSON.parse(init.body) as object), currentPassword: password }) };
  const headers = new Headers(init.headers);
  headers.set('current-password', encodeURIComponent(password));
  return { ...init, headers };
}

/** Loads the form, which is not part of the first load. */
export const loadPasswordForm = (): Promise<typeof import('./password-form.js')> => import('./password-form.js');
const PasswordForm = lazy(loadPasswordForm);

export function PasswordDialog(): ReactNode {
  const question = useCell(useSession().passwordQuestion.open);
  return (
    <Modal opened={question !== undefined} onClose={() => question?.answer(undefined)} title="Your password, please" centered zIndex={400}>
      {question && <Suspense><PasswordForm question={question} /></Suspense>}
    </Modal>
  );
}
