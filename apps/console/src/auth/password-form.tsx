import { Alert, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import type { Question } from './password-question.js';

/** Browsers refuse passkeys for a bare IP address. */
const mayUsePasskey = 'PublicKeyCredential' in window && !/^[\d.]+$|:/.test(location.hostname);

/**
 * Lets the user choose and use a passkey of the shop.
 * @returns a code that shows it to the shop, once
 * @throws if none was used, or the shop refused it
 */
async function exchangePasskey(): Promise<string> {
  const ask = async (init?: RequestInit): Promise<unknown> => {
    const response = await fetch('/account/passkey', init);
    if (!response.ok) throw new Error(`The shop refused the passkey (${response.status}).`);
    return response.json();
  };
  const { proof, options } = (await ask()) as { proof: string; options: PublicKeyCredentialRequestOptionsJSON };
  const credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  const { code } = (await ask({ method: 'POST', body: new URLSearchParams({ proof, credential: JSON.stringify(credential) }) })) as { code: string };
  return code;
}

export function PasswordForm({ question: { refusal, answer } }: { readonly question: Question }): ReactNode {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [passkey, setPasskey] = useState<'asked' | 'refused' | undefined>(undefined);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    answer({ password, code });
  };
  const usePasskey = (): void => {
    setPasskey('asked');
    exchangePasskey().then(
      (exchanged) => answer({ password: '', code: exchanged }),
      () => setPasskey('refused'),
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">This change is sensitive, so the shop asks who you are.</Text>
        {mayUsePasskey && (
          <>
            <Button variant="default" loading={passkey === 'asked'} onClick={usePasskey}>Use a passkey</Button>
            {passkey === 'refused' && <Alert color="red" variant="light" role="alert">No passkey was used. Try again, or type your password.</Alert>}
          </>
        )}
        <PasswordInput label="Password" autoComplete="current-password" required autoFocus data-autofocus value={password} onChange={(change) => setPassword(change.currentTarget.value)} error={refusal} />
        <TextInput label="Code" description="Only with a second factor: of your app, or a recovery code." autoComplete="one-time-code" value={code} onChange={(change) => setCode(change.currentTarget.value)} />
        <Group justify="flex-end">
          <Button variant="default" onClick={() => answer(undefined)}>Cancel</Button>
          <Button type="submit">Continue</Button>
        </Group>
      </Stack>
    </form>
  );
}
