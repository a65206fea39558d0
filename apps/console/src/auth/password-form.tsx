import { Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import type { Question } from './password-question.js';

export default function PasswordForm({ question: { refusal, answer } }: { readonly question: Question }): ReactNode {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    answer({ password, code });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">This change is sensitive, so the shop asks who you are.</Text>
        <PasswordInput label="Password" autoComplete="current-password" required data-autofocus value={password} onChange={(change) => setPassword(change.currentTarget.value)} error={refusal} />
        <TextInput label="Code" description="Only with a second factor: of your app, or a recovery code." autoComplete="one-time-code" value={code} onChange={(change) => setCode(change.currentTarget.value)} />
        <Group justify="flex-end">
          <Button variant="default" onClick={() => answer(undefined)}>Cancel</Button>
          <Button type="submit">Continue</Button>
        </Group>
      </Stack>
    </form>
  );
}
