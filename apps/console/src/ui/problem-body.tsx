import { Code, List, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { problemText, shortText } from './problem-text.js';

/** What happened, which fields are wrong, and what to do. @param isShort only what happened */
export function ProblemBody({ error, isShort }: { readonly error: unknown; readonly isShort: boolean }): ReactNode {
  if (isShort) return shortText(error);
  const { what, todo, faults, requestId } = problemText(error);
  return (
    <>
      <Text size="sm">{what}</Text>
      {faults.length > 0 && (
        <List size="sm" my={4}>
          {faults.map(({ field, detail }) => <List.Item key={field + detail}>{field !== '' && <b>{inWords(field)}: </b>}{detail}</List.Item>)}
        </List>
      )}
      <Text size="sm">{todo}</Text>
      {requestId !== undefined && (
        <Text size="xs" mt={6}>Request <Code>{requestId}</Code></Text>
      )}
    </>
  );
}

/** Fields that forms call otherwise. */
const names: Readonly<Record<string, string>> = {
  url: 'Address', eventTypes: 'Events', plantId: 'Plant', orderId: 'Order', newStatuses: 'Only changes to', expiresAt: 'Expires', redirectUris: 'Redirect addresses', scopes: 'Permissions', owner: 'Acts for the user',
  photoUrls: 'Pictures', by: 'Units', free: 'Free units', subject: 'Subjects begin with', lowStockAt: 'Low from', quantity: 'Units in stock', fromCursor: 'After the cursor', until: 'Before',
};

/** `trackingNumber` → `Tracking number`. */
const inWords = (field: string): string => names[field] ?? field.replace(/^./, (letter) => letter.toUpperCase()).replace(/[A-Z](?=[a-z])/g, (letter, at: number) => (at === 0 ? letter : ` ${letter.toLowerCase()}`));
