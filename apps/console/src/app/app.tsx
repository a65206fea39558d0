import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { type ReactNode, useEffect, useState } from 'react';
import { beginLogin, LoginFailed, takeAnswer, wasLoggedOut } from '../auth/login.js';
import { Session, SessionProvider, useCell } from '../auth/session.js';
import { readSettings, type Settings } from './settings.js';
import { theme } from './theme.js';
import { Welcome } from './welcome.js';
import { Workplace } from './workplace.js';

export const App = (): ReactNode => (
  <MantineProvider theme={theme} defaultColorScheme="auto">
    <Notifications position="bottom-right" />
    <Entrance />
  </MantineProvider>
);

type Stage =
  | { readonly at: 'opening' }
  | { readonly at: 'door'; readonly settings: Settings; readonly text: string }
  | { readonly at: 'broken'; readonly error: unknown }
  | { readonly at: 'inside'; readonly settings: Settings; readonly session: Session };

/** From the first request to a person who is logged in. */
function Entrance(): ReactNode {
  const [stage, setStage] = useState<Stage>({ at: 'opening' });
  useEffect(() => {
    enter().then(setStage, (error: unknown) => setStage({ at: 'broken', error }));
  }, []);
  if (stage.at === 'opening') return <Welcome text="Opening the console …" isBusy />;
  if (stage.at === 'broken') return <Welcome text="The console cannot open." error={stage.error} action="Try again" onAction={() => location.reload()} />;
  if (stage.at === 'door') return <Welcome text={stage.text} action="Log in" onAction={() => void beginLogin(stage.settings)} />;
  return <Inside settings={stage.settings} session={stage.session} />;
}

let entering: Promise<Stage> | undefined;
/** Once: the code of a log-in is good for one use. */
const enter = (): Promise<Stage> => (entering ??= enterOnce());

async function enterOnce(): Promise<Stage> {
  const settings = await readSettings();
  // People log in at the public address, and are sent back to it: another name of the same machine would forget what it began.
  if (!import.meta.env.DEV && location.origin !== new URL(settings.publicUrl).origin) {
    location.replace(new URL(location.pathname + location.search, settings.publicUrl).href);
    return { at: 'opening' };
  }
  if (settings.oauthClient === '') throw new Error('This shop has no OAuth client for the console. An administrator registers one and names it in the gateway’s setting CONSOLE_OAUTH_CLIENT.');
  try {
    const answer = takeAnswer();
    if (answer) {
      const session = new Session(settings, answer.grant);
      await session.open();
      return { at: 'inside', settings, session };
    }
  } catch (error) {
    if (error instanceof LoginFailed) return { at: 'door', settings, text: `You are not logged in. ${error.message}` };
    throw error;
  }
  if (wasLoggedOut()) return { at: 'door', settings, text: 'You are logged out.' };
  await beginLogin(settings);
  return { at: 'opening' };
}

function Inside({ settings, session }: { readonly settings: Settings; readonly session: Session }): ReactNode {
  const ended = useCell(session.ended);
  if (ended === undefined) {
    return (
      <SessionProvider session={session}>
        <Workplace />
      </SessionProvider>
    );
  }
  const text = ended === 'logged-out' ? 'You are logged out.' : 'Your log-in has ended. What you see in other tabs may be out of date.';
  return <Welcome text={text} action="Log in" onAction={() => void beginLogin(settings)} />;
}
