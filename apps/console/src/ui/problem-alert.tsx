import { Alert, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { ShopError, ShopProblem } from '@plant-shop/client';
import { type ReactNode, Suspense, useEffect, useRef } from 'react';
import { LostPermissions } from '../auth/permissions.js';
import { useCell, useSession } from '../auth/session.js';
import { lazyFile } from '../shop/lazy-file.js';

/** The sentences are a file of their own: most visits need none. */
export const ProblemBody = lazyFile(() => import('./problem-body.js'), 'ProblemBody');

/** Until the sentences are loaded. */
const textBefore = (error: unknown): string => (error instanceof ShopError && !(error instanceof ShopProblem) ? 'The shop cannot be reached.' : error instanceof Error ? error.message : '');

/** What an error says to people. @param isShort only what happened, in one sentence */
export const ProblemMessage = ({ error, isShort = false }: { readonly error: unknown; readonly isShort?: boolean }): ReactNode => <Suspense fallback={textBefore(error)}><ProblemBody error={error} isShort={isShort} /></Suspense>;

/** Shows an error where it occurred; renders nothing without one. @param isShown whether what could not be read again stays on the page */
export function ProblemAlert({ error, title = 'This did not work', isShown = false }: { readonly error: unknown; readonly title?: string; readonly isShown?: boolean }): ReactNode {
  const lost = useCell(useSession().lost);
  const alert = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A dialog may be longer than the window, and its button that was pressed is below.
    if (alert.current?.closest('[role=dialog]')) alert.current.scrollIntoView({ block: 'nearest' });
  }, [error]);
  // Whoever closed the question for the password knows that nothing was done.
  if (error === null || error === undefined || (error instanceof ShopProblem && error.code === 'recent-login-required')) return null;
  const isRefusal = error instanceof ShopProblem && (error.status === 403 || error.status === 404);
  // A form's lost answer has it as its cause.
  const { outcome } = [error, (error as Error).cause].find((one) => one instanceof ShopError) ?? {};
  return (
    <Alert ref={alert} {...(isShown && { mb: 'md' })} color="red" variant="light" icon={<IconAlertTriangle />} title={outcome === 'unknown' ? 'It is not known whether this worked' : isShown ? `${title} again` : title} role="alert">
      <ProblemMessage error={isRefusal && lost.size > 0 ? new LostPermissions([...lost]) : error} />
      {isShown && <Text size="sm">What is shown is as it was before.</Text>}
    </Alert>
  );
}
