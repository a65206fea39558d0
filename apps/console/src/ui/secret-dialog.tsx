import { Alert, Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { IconCopy, IconEye } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Dialog } from './dialog.js';

/**
 * Shows a secret that the shop returns only once. Closes by its button alone, so that neither a click outside the dialog nor
 * "Back" loses the secret.
 */
export const SecretDialog = ({ title, secret, onClose, children }: {
  readonly title: string;
  readonly secret: string | undefined;
  readonly onClose: () => void;
  /** What the secret is for, and where it goes. */
  readonly children?: ReactNode;
}): ReactNode => (
  <Dialog isOpen={secret !== undefined} isBusy onClose={onClose} title={title} size="lg" withCloseButton={false}>
    <Stack>
      <Alert color="yellow" variant="light" icon={<IconEye />} title="Copy it now">
        It is shown only once. The shop cannot show it again, only replace it.
      </Alert>
      {children !== undefined && <Text size="sm">{children}</Text>}
      <Code block aria-label="Secret" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{secret}</Code>
      <Group justify="flex-end">
        <CopyButton value={secret ?? ''} timeout={2_000}>
          {({ copied, copy }) => <Button variant="default" leftSection={<IconCopy size={16} />} onClick={copy} data-autofocus>{copied ? 'Copied' : 'Copy'}</Button>}
        </CopyButton>
        <Button onClick={({ detail }) => {
          // The second half of the double click that asked for the secret.
          if (detail < 2) onClose();
        }}>I have stored it</Button>
      </Group>
    </Stack>
  </Dialog>
);
