import { Button, Group, Modal, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { ProblemAlert } from './problem-alert.js';

/** For a dialog whose request is under way: closing it would not take the request back. */
export const stay = (): void => undefined;

/**
 * Asks for confirmation. `children` say what will happen. Stays open while the request runs and when it is refused, to
 * show the refusal.
 */
export function ConfirmDialog({ title, action, isOpen, isBusy, error, onConfirm, onClose, children, color = 'red' }: {
  readonly title: string;
  /** The verb on the button: "Delete the plant". */
  readonly action: string;
  readonly isOpen: boolean;
  readonly isBusy: boolean;
  readonly error?: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly color?: string;
}): ReactNode {
  return (
    <Modal opened={isOpen} onClose={isBusy ? stay : onClose} title={title} centered>
      <Stack>
        <div>{children}</div>
        <ProblemAlert error={error} />
        <Group justify="flex-end">
          <Button variant="default" disabled={isBusy} onClick={onClose} data-autofocus>Back</Button>
          <Button color={color} loading={isBusy} onClick={onConfirm}>{action}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
