import { ActionIcon, Button, Indicator, Popover, Stack, Switch, Text } from '@mantine/core';
import { IconBell, IconBellOff } from '@tabler/icons-react';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useCell, usePerson, useSession } from '../auth/session.js';
import { countNewOrders, newOrders, newOrdersText, seeNewOrders } from '../shop/new-orders.js';

interface Wishes {
  readonly isOn: boolean;
  readonly hasSound: boolean;
}

/** At most one sound in this time, however many orders come. */
const soundEveryMs = 2_000;

/** Tells of new orders where the person is: in the header, in the tab's title and, if wanted, by a sound. The browser keeps what is wanted. */
export function OrderNotices(): ReactNode {
  const { live, connection } = useSession();
  const key = `notices of ${usePerson().username}`;
  const [{ isOn, hasSound }, setWishes] = useState<Wishes>(() => ({ isOn: false, hasSound: false, ...(JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Wishes>) }));
  const [isOpen, setOpen] = useState(false);
  const count = newOrdersText(useCell(newOrders));
  const isOnline = useCell(connection.isOnline);
  const liveState = useCell(live.state);
  const { isAway } = useCell(connection.state);
  const isFollowing = isOnline && !isAway && liveState === 'live';
  const isAtOrders = useLocation({ select: ({ pathname }) => pathname === '/orders' });
  const navigate = useNavigate();
  const beep = useSound(isOn && hasSound);
  const latestBeep = useRef(beep);
  latestBeep.current = beep;
  const want = (change: Partial<Wishes>): void => {
    const wishes = { isOn, hasSound, ...change };
    localStorage.setItem(key, JSON.stringify(wishes));
    setWishes(wishes);
  };
  useEffect(() => (isOn ? countNewOrders(live, () => latestBeep.current()) : undefined), [isOn, live]);
  useEffect(() => {
    if (!isAtOrders || count === '') return undefined;
    const see = (): void => {
      if (document.visibilityState === 'visible') seeNewOrders();
    };
    see();
    document.addEventListener('visibilitychange', see);
    return () => document.removeEventListener('visibilitychange', see);
  }, [isAtOrders, count]);
  const said = !isOn ? 'Notices of new orders: off' : count === '' ? 'Notices of new orders: none' : `Notices of new orders: ${count}`;
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" withArrow trapFocus width={280}>
      <Indicator label={count} size={18} color="red" disabled={count === ''}>
        <Popover.Target>
          <ActionIcon variant="default" size={30} onClick={() => setOpen(!isOpen)} aria-label={isOn && !isFollowing ? `${said}, offline` : said}>{isOn && isFollowing ? <IconBell size={18} /> : <IconBellOff size={18} />}</ActionIcon>
        </Popover.Target>
      </Indicator>
      <Popover.Dropdown aria-label="Notices of new orders">
        <Stack gap="sm">
          <Switch label="Count new orders" description="Here and in the tab’s title, on this computer." checked={isOn} onChange={({ currentTarget: { checked } }) => want({ isOn: checked })} />
          <Switch label="Play a sound" checked={hasSound} disabled={!isOn} onChange={({ currentTarget: { checked } }) => want({ hasSound: checked })} />
          {isOn && <Text size="sm" role="status">{stateText(isFollowing, isOnline)}</Text>}
          {count !== '' && (
            <Button
              size="xs"
              onClick={() => {
                seeNewOrders();
                setOpen(false);
                // They are not paid yet, so they are not among those to ship.
                void navigate({ to: '/orders', search: { tab: 'all' } });
              }}
            >
              See {count} new
            </Button>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function stateText(isFollowing: boolean, isOnline: boolean): string {
  if (isFollowing) return 'Orders are counted as they are placed.';
  return `${isOnline ? 'The shop cannot be reached at the moment.' : 'This computer is offline.'} What is missed is counted when it is back.`;
}

/** Returns a function that plays a short sound. Browsers allow it once the person has used the page. */
function useSound(isWanted: boolean): () => void {
  const context = useRef<AudioContext>(undefined);
  const lastAt = useRef(-Infinity);
  useEffect(() => {
    if (!isWanted) return undefined;
    const made = new AudioContext();
    context.current = made;
    const resume = (): void => void made.resume();
    window.addEventListener('pointerdown', resume);
    window.addEventListener('keydown', resume);
    return () => {
      window.removeEventListener('pointerdown', resume);
      window.removeEventListener('keydown', resume);
      context.current = undefined;
      void made.close();
    };
  }, [isWanted]);
  return () => {
    const audio = context.current;
    if (!audio || performance.now() - lastAt.current < soundEveryMs) return;
    lastAt.current = performance.now();
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    tone.frequency.value = 880;
    volume.gain.setValueAtTime(0.1, audio.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.4);
    tone.connect(volume).connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.4);
  };
}
