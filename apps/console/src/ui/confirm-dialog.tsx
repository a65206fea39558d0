import { Button, Group, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { BackButton, Dialog } from './dialog.js';
import { ProblemAlert } from './problem-alert.js';

/**
 * Asks for confirmation. `children` say what will happen. Stays open while the request runs and when it is refused, to
 * show the refusal.
 */
export function ConfirmDialog({ title, action, isOpen, isBusy, isPossible = true, error, onConfirm, onClose, children, color = 'red' }: {
  readonly title: string;
  /** The verb on the button: "Delete the plant". */
  readonly action: string;
  readonly isOpen: boolean;
  readonly isBusy: boolean;
  /** Whether what it is about still allows it. */
  readonly isPossible?: boolean;
  readonly error?: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly color?: string;
}): ReactNode {
  return (
    <Dialog isOpen={isOpen} isBusy={isBusy} onClose={onClose} title={title}>
      <Stack>
        <div>{children}</div>
        <ProblemAlert error={error} />
        <Group justify="flex-end">
          <BackButton hasFocus />
          <Button color={color} loading={isBusy} disabled={!isPossible} onClick={onConfirm}>{action}</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
