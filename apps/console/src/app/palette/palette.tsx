// oxlint-disable-next-line no-restricted-imports
import { Button, CloseButton, Group, Modal, Text, TextInput, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { Fragment, type KeyboardEvent, type ReactNode, type RefObject, useCallback, useEffect, useId, useRef, useState } from 'react';
import { useCell, useSession } from '../../auth/session.js';
import { AdjustStock } from '../../pages/plants/adjust-stock.js';
import { counted, trimmed } from '../../ui/numbers.js';
import { ProblemMessage } from '../../ui/problem-alert.js';
import { StatusBadge } from '../../ui/status-badge.js';
import type { Early } from './find-button.js';
import type { Go, Offer, OfferGroup } from './offers.js';
import { useOwnOffers } from './own-offers.js';
import classes from './palette.module.css';
import { type Found, useFound } from './use-found.js';

const typingMs = 150;

/** Finds orders, plants, people, webhooks, pages and actions, by keyboard. Arrow keys move between them, Enter opens one. */
export function Palette({ early, onClose }: { readonly early: RefObject<Early | undefined>; readonly onClose: () => void }): ReactNode {
  const navigate = useNavigate();
  const listId = useId();
  const [text, setText] = useState('');
  const [asksForPlant, setAsksForPlant] = useState(false);
  const [dialog, setDialog] = useState<ReactNode>();
  /** The offer that an arrow key chose. */
  const [chosen, setChosen] = useState<string>();
  /** What Enter was pressed for before all answers came: a scanner does not wait for them. */
  const [awaited, setAwaited] = useState<string>();
  const typed = meantBy(text);
  const [words] = useDebouncedValue(typed, typingMs);
  const change = (changed: string): void => {
    setText(changed);
    setChosen(undefined);
    setAwaited(undefined);
  };
  /** From now on the field takes the keys: the focus trap would come too late. */
  const takeKeys = useCallback((field: HTMLInputElement | null): void => {
    if (!field || !early.current) return;
    const { text: before, isEntered } = early.current;
    early.current = undefined;
    field.focus();
    setText(before);
    if (isEntered) setAwaited(meantBy(before));
  }, [early]);
  const go: Go = (to) => {
    // Where the focus was before does not matter on the page that opens.
    document.getElementById('content')?.focus({ preventScroll: true });
    onClose();
    void navigate(to);
  };
  const own = useOwnOffers(typed, {
    go,
    show: setDialog,
    onStock: () => {
      change('');
      setAsksForPlant(true);
    },
    onClose,
  });
  const found = useFound(words, { go, onPlant: asksForPlant ? ({ id, name }) => setDialog(<AdjustStock plantId={id} name={name} onClose={onClose} />) : undefined });
  // Answers to what was typed before would be taken for those to what is typed now.
  const isCurrent = words === typed;
  const known = asksForPlant ? [] : own;
  const groups = [...known, ...(isCurrent ? found.groups : [])].filter(({ offers }) => offers.length > 0);
  const isSearching = typed !== '' && (!isCurrent || found.isSearching);
  const offers = groups.flatMap((group) => group.offers);
  // What an arrow key chose stays so when answers put others above it, and no answer comes before a page or an action. An order whose number was
  // scanned comes before a view that is called so.
  const settled = offers.find(({ key }) => key === chosen) ?? known.filter(({ isNamedByPeople = false }) => !isNamedByPeople).flatMap((group) => group.offers)[0];
  const active = settled ?? offers.find(({ isExact }) => isExact) ?? offers[0];
  const isDoubtful = found.failed.length > 0 && active?.isExact !== true;
  useEffect(() => {
    if (awaited === undefined || isSearching) return;
    setAwaited(undefined);
    // What could not be searched may have had it.
    if (awaited === typed && !isDoubtful) active?.run();
  }, [awaited, isSearching, typed, active, isDoubtful]);

  const onKeyDown = (event: KeyboardEvent): void => {
    const at = active ? offers.indexOf(active) : -1;
    const to = { ArrowDown: (at + 1) % offers.length, ArrowUp: (at - 1 + offers.length) % offers.length, PageDown: Math.min(at + most, offers.length - 1), PageUp: Math.max(at - most, 0) }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      setChosen(offers[to]?.key);
      setAwaited(undefined);
    } else if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      if (settled || !isSearching) active?.run();
      else setAwaited(typed);
    } else if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onClose();
    } else if (event.key === 'Backspace' && text === '') setAsksForPlant(false);
  };

  if (dialog !== undefined) return dialog;
  const label = asksForPlant ? 'Plant whose stock changes: name or number' : 'Order, tracking number, plant, person, page or action';
  return (
    <Modal.Root opened onClose={onClose} size="lg" yOffset="8dvh" transitionProps={{ duration: 0 }}>
      <Modal.Overlay />
      <Modal.Content aria-label={asksForPlant ? 'Adjust the stock of a plant' : 'Find anything'}>
        <Modal.Body p={0}>
          <TextInput
            className={classes['field'] ?? ''}
            variant="unstyled"
            size="md"
            role="combobox"
            aria-label={label}
            aria-expanded={offers.length > 0}
            aria-controls={offers.length > 0 ? listId : undefined}
            aria-activedescendant={active && `${listId}-${offers.indexOf(active)}`}
            aria-autocomplete="list"
            autoComplete="off"
            spellCheck={false}
            maxLength={200}
            ref={takeKeys}
            data-autofocus
            placeholder={label}
            leftSection={<IconSearch size={18} aria-hidden />}
            rightSection={<CloseButton aria-label="Close" onClick={onClose} />}
            value={text}
            onChange={({ currentTarget: { value } }) => change(value)}
            onKeyDown={onKeyDown}
          />
          {offers.length > 0 && <Offers id={listId} groups={groups} active={active} />}
          <Result typed={typed} count={offers.length} isSearching={isSearching} isAwaited={awaited !== undefined} found={found} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

/** People write #7, or order 7, as its page is called. */
const meantBy = (text: string): string => trimmed(text).replace(/^(?:order|plant)\s+(?=#?\d+$)/i, '').replace(/^#/, '');

/** Rows of one key press. */
const most = 5;

function Offers({ id, groups, active }: { readonly id: string; readonly groups: readonly OfferGroup[]; readonly active: Offer | undefined }): ReactNode {
  const list = useRef<HTMLDivElement>(null);
  const key = active?.key;
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [key]);
  let number = 0;
  return (
    <div ref={list} id={id} role="listbox" aria-label="Found" className={classes['list']}>
      {groups.map(({ name, offers }, n) => (
        <div key={name} role="group" aria-labelledby={`${id}-group-${n}`}>
          <Text id={`${id}-group-${n}`} role="presentation" size="xs" c="dimmed" fw={600} px="sm" pt={6}>{name}</Text>
          {offers.map((offer) => <Row key={offer.key} id={`${id}-${number++}`} offer={offer} isActive={offer.key === key} />)}
        </div>
      ))}
    </div>
  );
}

const Row = ({ id, offer: { label, detail = '', status, icon: Icon, run }, isActive }: { readonly id: string; readonly offer: Offer; readonly isActive: boolean }): ReactNode => (
  // The focus stays in the field.
  <div id={id} role="option" aria-selected={isActive} className={classes['row']} onMouseDown={(event) => event.preventDefault()} onClick={run}>
    <Icon size={18} stroke={1.75} aria-hidden className={classes['icon']} />
    <div className={classes['text']}>
      <Text size="sm" truncate>{label}</Text>
      {detail !== '' && <Text size="xs" c="dimmed" truncate>{detail}</Text>}
    </div>
    {status !== undefined && <StatusBadge status={status} />}
  </div>
);

function Result({ typed, count, isSearching, isAwaited, found: { failed, isMore } }: { readonly typed: string; readonly count: number; readonly isSearching: boolean; readonly isAwaited: boolean; readonly found: Found }): ReactNode {
  const { isAway } = useCell(useSession().connection.state);
  const isNothing = count === 0 && !isSearching && typed !== '';
  return (
    <div className={classes['result']}>
      {failed.map(({ name, error, again }) => (
        <Fragment key={name}>
          <Text size="sm" c="var(--mantine-color-error)" role="alert">{name} could not be searched. <ProblemMessage error={error} isShort /></Text>
          <Button size="compact-xs" variant="default" onClick={again}>Search {name.toLowerCase()} again</Button>
        </Fragment>
      ))}
      <Group justify="space-between" gap="xs" role="status">
        {isSearching ? <Text size="sm" c="dimmed">{isAwaited ? 'Opens the best match once all is searched …' : isAway ? 'Waiting for the shop’s answer …' : 'Searching …'}</Text> : isNothing ? <Text size="sm">{failed.length > 0 ? 'Nothing else matches.' : 'Nothing matches.'}</Text> : <VisuallyHidden>{typed === '' ? '' : `${counted(count, 'result')}${isMore ? ', and there are more' : ''}`}</VisuallyHidden>}
      </Group>
      {typed === '' && <Text size="xs" c="dimmed" visibleFrom="sm">Arrow keys choose, Enter opens, Esc closes.</Text>}
    </div>
  );
}
