import { Alert, Code, List, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { inWords, problemText } from './problem.js';

/** Shows an error where it occurred; renders nothing without one. */
export function ProblemAlert({ error, title = 'This did not work' }: { readonly error: unknown; readonly title?: string }): ReactNode {
  if (error === null || error === undefined) return null;
  const { what, todo, faults, requestId } = problemText(error);
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle />} title={title} role="alert">
      <Text size="sm">{what}</Text>
      {faults.length > 0 && (
        <List size="sm" my={4}>
          {faults.map(({ field, detail }) => <List.Item key={field + detail}><b>{inWords(field)}</b> {detail}</List.Item>)}
        </List>
      )}
      <Text size="sm">{todo}</Text>
      {requestId !== undefined && (
        <Text size="xs" mt={6}>Request <Code>{requestId}</Code></Text>
      )}
    </Alert>
  );
}
