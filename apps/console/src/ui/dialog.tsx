// oxlint-disable-next-line no-restricted-imports
import { Alert, Button, Group, Modal, type ModalProps, Stack, Text } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { createContext, type FocusEvent, type ReactNode, use, useEffect, useLayoutEffect, useRef } from 'react';
import { useCell, useSession } from '../auth/session.js';
import { Cell } from '../shop/cell.js';
import { sentWhileAway } from '../shop/connection.js';
import { isGone } from '../shop/gone.js';
import { ProblemAlert } from './problem-alert.js';
import { type Draft, RestoredDraft } from './use-draft.js';

interface DialogState {
  readonly isBusy: boolean;
  readonly close: () => void;
}

const DialogContext = createContext<DialogState | undefined>(undefined);

/** How many are open. */
const openDialogs = new Cell(0);

/** Whether what the page is about was deleted meanwhile. */
const GoneContext = createContext(false);

/** A page about one thing. Once that is gone, it shows `gone`; before that, what is typed in an open dialog stays, and the dialog says it. */
export function UnlessGone({ error, gone, children }: { readonly error: unknown; readonly gone: ReactNode; readonly children: ReactNode }): ReactNode {
  const isOpen = useCell(openDialogs) > 0;
  return isGone(error) && !isOpen ? gone : <GoneContext value={isGone(error)}>{children}</GoneContext>;
}

const stay = (): void => undefined;

/** Keeps the reader on the page: neither "Back" nor closing the tab leaves it unasked. */
function useStayOnPage(isNeeded: boolean): void {
  const { history } = useRouter();
  useEffect(() => {
    if (!isNeeded) return undefined;
    // Links are behind the dialog, and what the answer opens is no loss.
    return history.block({ blockerFn: ({ action }) => action !== 'PUSH' && action !== 'REPLACE', enableBeforeUnload: true });
  }, [history, isNeeded]);
}

/** What is typed or chosen after the request was sent would be lost with the dialog. @returns a function that ends it */
function holdFields(body: HTMLElement | null): () => void {
  const hold = (event: Event): void => {
    if (event.type === 'beforeinput' || (event.target instanceof Element && event.target.closest('input, label, [role=combobox]'))) event.preventDefault();
  };
  for (const type of ['beforeinput', 'click']) body?.addEventListener(type, hold, true);
  return () => {
    for (const type of ['beforeinput', 'click']) body?.removeEventListener(type, hold, true);
  };
}

/** What the first field has already, such as a draft, is replaced by what is typed and not continued. */
function replaceWhenTyped({ target }: FocusEvent): void {
  if (target instanceof HTMLInputElement && target.hasAttribute('data-autofocus')) target.select();
}

/** A dialog. While its request is under way nothing closes it: that would not take the request back, and the answer would be lost. */
export function Dialog({ isOpen = true, isBusy, onClose, children, ...props }: Omit<ModalProps, 'opened' | 'onClose'> & {
  readonly isOpen?: boolean;
  readonly isBusy: boolean;
  readonly onClose: () => void;
}): ReactNode {
  useStayOnPage(isOpen && isBusy);
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    openDialogs.set(openDialogs.get() + 1);
    return () => openDialogs.set(openDialogs.get() - 1);
  }, [isOpen]);
  const hasGone = use(GoneContext);
  const close = isBusy ? stay : onClose;
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => (isBusy ? holdFields(body.current) : undefined), [isBusy]);
  return (
    <Modal opened={isOpen} onClose={close} centered closeButtonProps={{ 'aria-label': 'Close', disabled: isBusy }} {...props}>
      <DialogContext value={{ isBusy, close }}><div ref={body} onFocus={replaceWhenTyped}><Away />{hasGone && <Alert color="red" variant="light" title="It was deleted meanwhile" role="alert" mb="md">Nothing can be saved any more. What you typed stays here until you close this.</Alert>}{children}</div></DialogContext>
    </Modal>
  );
}

/** Says in the dialog what the page behind it says. */
function Away(): ReactNode {
  const { connection } = useSession();
  const { isAway } = useCell(connection.state);
  const isOnline = useCell(connection.isOnline);
  return <Text size="sm" fw={600} role="status" {...(isAway && { mb: 'sm' })}>{isAway && `${isOnline ? 'The shop, or part of it, cannot be reached now.' : 'This computer has no network now.'} ${sentWhileAway}`}</Text>;
}

/** Closes the dialog around it. */
export function BackButton({ label = 'Back', hasFocus = false }: { readonly label?: string; readonly hasFocus?: boolean }): ReactNode {
  const dialog = use(DialogContext);
  return <Button variant="default" disabled={dialog?.isBusy === true} onClick={dialog?.close} {...(hasFocus && { 'data-autofocus': true })}>{label}</Button>;
}

/**
 * The buttons of a dialog that stays open while it works and to show the result. Then the last one that can be pressed has the focus: it is the next
 * thing to do. While it works, they have it together: the second Enter of two presses nothing, and Tab leads to “Stop”.
 */
export function ResultActions({ isBegun, isRunning, children }: { readonly isBegun: boolean; readonly isRunning: boolean; readonly children: ReactNode }): ReactNode {
  const buttons = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isRunning) buttons.current?.focus();
    else if (isBegun) [...(buttons.current?.querySelectorAll<HTMLElement>('button:enabled') ?? [])].at(-1)?.focus();
  }, [isBegun, isRunning]);
  return <Group justify="flex-end" ref={buttons} role="group" aria-label="Actions" tabIndex={-1}>{children}</Group>;
}

/** A dialog with a form. Stays open when the request is refused, to show the refusal. */
export function FormDialog({ title, draft, action, color = 'green', isBusy, isPossible = true, error, onSubmit, onClose, children }: {
  readonly title: string;
  readonly draft: Pick<Draft<object>, 'key' | 'isRestored' | 'clear'>;
  /** The verb on the button. */
  readonly action: string;
  readonly color?: string;
  readonly isBusy: boolean;
  /** Whether what it is about still allows it. */
  readonly isPossible?: boolean;
  readonly error: unknown;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <Dialog isBusy={isBusy} onClose={onClose} title={title}>
      <form onSubmit={(event) => { event.preventDefault(); onSubmit(); }}>
        <Stack>
          <RestoredDraft draft={draft} />
          {children}
          <ProblemAlert error={error} />
          <Group justify="flex-end"><BackButton /><Button type="submit" color={color} loading={isBusy} disabled={!isPossible}>{action}</Button></Group>
        </Stack>
      </form>
    </Dialog>
  );
}
