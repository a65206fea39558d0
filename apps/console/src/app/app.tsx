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
    <LoginGate />
  </MantineProvider>
);

type Stage =
  | { readonly at: 'opening' }
  | { readonly at: 'logged-out'; readonly settings: Settings; readonly text: string }
  | { readonly at: 'failed'; readonly error: unknown }
  | { readonly at: 'logged-in'; readonly settings: Settings; readonly session: Session };

/** Reads the settings and logs the user in. */
function LoginGate(): ReactNode {
  const [stage, setStage] = useState<Stage>({ at: 'opening' });
  useEffect(() => {
    enter().then(setStage, (error: unknown) => setStage({ at: 'failed', error }));
  }, []);
  if (stage.at === 'opening') return <Welcome text="Opening the console …" isBusy />;
  if (stage.at === 'failed') return <Welcome text="The console cannot open." error={stage.error} action="Try again" onAction={() => location.reload()} />;
  if (stage.at === 'logged-out') return <Welcome text={stage.text} action="Log in" onAction={() => void beginLogin(stage.settings)} />;
  return <LoggedIn settings={stage.settings} session={stage.session} />;
}

let entering: Promise<Stage> | undefined;
/** Runs once: an authorization code can be used only once. */
const enter = (): Promise<Stage> => (entering ??= enterOnce());

async function enterOnce(): Promise<Stage> {
  const settings = await readSettings();
  // The login returns to the public address. Started at another name of this host, it would not find its state.
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
      return { at: 'logged-in', settings, session };
    }
  } catch (error) {
    if (error instanceof LoginFailed) return { at: 'logged-out', settings, text: `You are not logged in. ${error.message}` };
    throw error;
  }
  if (wasLoggedOut()) return { at: 'logged-out', settings, text: 'You are logged out.' };
  await beginLogin(settings);
  return { at: 'opening' };
}

function LoggedIn({ settings, session }: { readonly settings: Settings; readonly session: Session }): ReactNode {
  const ended = useCell(session.ended);
  if (ended === undefined) {
    return (
      <SessionProvider session={session}>
        <Workplace />
      </SessionProvider>
    );
  }
  const text = ended === 'logged-out' ? 'You are logged out.' : 'Your session has ended. What you see in other tabs may be out of date.';
  return <Welcome text={text} action="Log in" onAction={() => void beginLogin(settings)} />;
}
